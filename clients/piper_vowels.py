"""piper-tts writes the vowels of Arabic and Hebrew sentences, which it needs to speak them."""

import json
import sys

from piper.hebrew import NakdimonDiacritizer
from piper.tashkeel import TashkeelDiacritizer

ARABIC = ("مرحبا بالعالم كيف حالك اليوم", "ذهب الولد الى المدرسة في الصباح")
HEBREW = ("שלום עולם מה שלומך היום", "הילד הלך לבית הספר בבוקר")


def main() -> None:
    """Write {"arabic", "hebrew"} to the file named on the command line."""
    arabic, hebrew = TashkeelDiacritizer(), NakdimonDiacritizer()
    answer = {"arabic": [arabic.diacritize(s) for s in ARABIC], "hebrew": [hebrew.diacritize(s) for s in HEBREW]}
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()
