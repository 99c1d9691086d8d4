"""silero-vad's ONNX wrapper finds the speech in a signal of words and pauses that espeak-ng speaks: beginnings and ends."""

import json
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np
import torch
from silero_vad import get_speech_timestamps, load_silero_vad

RATE = 16000
WORDS = ("Good morning to everyone.", "This is a test of speech.", "Seven, eight, nine, ten.")
PAUSES = (0.7, 1.2, 0.9, 0.5)


def spoken(text: str, folder: Path) -> np.ndarray:
    """The text as espeak-ng speaks it: float32 at RATE, the same every time."""
    path = folder / "spoken.wav"
    subprocess.run(["espeak-ng", "-v", "en", "-w", str(path), text], check=True)
    with wave.open(str(path)) as w:
        rate = w.getframerate()
        samples = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768
    places = np.arange(int(len(samples) * RATE / rate)) * (rate / RATE)
    return np.interp(places, np.arange(len(samples)), samples).astype(np.float32)


def main() -> None:
    """Write [{"start": sample, "end": sample}] to the file named on the command line."""
    if shutil.which("espeak-ng") is None:
        sys.exit("silero_speech needs espeak-ng to make a signal: apt-get install espeak-ng")
    with tempfile.TemporaryDirectory() as folder:
        words = [spoken(w, Path(folder)) for w in WORDS]
    noise = np.random.default_rng(0)
    silences = [np.float32(1e-4) * noise.standard_normal(int(s * RATE)).astype(np.float32) for s in PAUSES]
    signal = np.concatenate([part for pair in zip(silences, [*words, words[0][:0]], strict=True) for part in pair])
    answer = get_speech_timestamps(torch.from_numpy(signal), load_silero_vad(onnx=True), sampling_rate=RATE)
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()
