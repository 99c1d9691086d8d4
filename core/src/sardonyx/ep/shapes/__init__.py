"""Shape arithmetic that every provider shares: pads, windows, broadcasting, slices, resize coordinates.

Pure functions over Python ints and small numpy arrays; nothing here touches tensor data.
"""

from __future__ import annotations
