"""magika classifies a folder of files of twenty kinds: the label of each file."""

import io
import json
import sys
import tarfile
import tempfile
import wave
import zipfile
import zlib
from pathlib import Path

from magika import Magika

TEXTS = {
    "page.html": "<!DOCTYPE html>\n<html><head><title>A</title></head><body><p>Some text</p><script>f()</script></body></html>\n" * 3,
    "style.css": "body { margin: 0; color: #333; }\n.card > a:hover { text-decoration: underline; padding: 4px 8px; }\n" * 6,
    "program.py": "import sys\n\n\ndef main(args):\n    for a in args:\n        print(a.upper())\n\n\nmain(sys.argv)\n",
    "program.c": '#include <stdio.h>\n\nint main(int argc, char **argv) {\n    printf("%d\\n", argc);\n    return 0;\n}\n' * 2,
    "program.js": "const fs = require('fs');\nfunction read(p) { return JSON.parse(fs.readFileSync(p)); }\nmodule.exports = { read };\n"
    * 4,
    "program.rs": 'fn main() {\n    let v: Vec<u32> = (0..10).collect();\n    println!("{:?}", v.iter().sum::<u32>());\n}\n' * 4,
    "program.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfor i := 0; i < 3; i++ {\n\t\tfmt.Println(i)\n\t}\n}\n' * 3,
    "Program.java": "public class Program {\n    public static void main(String[] a) {\n        System.out.println(a.length);\n    }\n}\n"
    * 3,
    "script.sh": '#!/bin/bash\nset -e\nfor f in *.txt; do\n  echo "$f"\n  wc -l < "$f"\ndone\n' * 4,
    "data.json": json.dumps([{"id": i, "name": f"item {i}", "tags": ["a", "b"], "ok": True} for i in range(30)], indent=1),
    "data.csv": "id,name,price,date\n" + "".join(f"{i},item {i},{i * 1.5:.2f},2024-01-{i % 28 + 1:02d}\n" for i in range(60)),
    "data.xml": '<?xml version="1.0"?>\n<items>' + "".join(f'<item id="{i}"><name>n{i}</name></item>\n' for i in range(40)) + "</items>\n",
    "data.yaml": "".join(f"service_{i}:\n  image: app:{i}\n  ports:\n    - {8000 + i}\n  restart: always\n" for i in range(15)),
    "notes.md": "# Title\n\nSome *emphasis* and a [link](https://example.org).\n\n- one\n- two\n\n```sh\nls\n```\n" * 8,
    "query.sql": "SELECT u.id, count(*) FROM users u JOIN orders o ON o.user_id = u.id WHERE o.total > 10 GROUP BY u.id;\n" * 10,
    "letter.txt": "Dear reader,\n\nthis is a letter of plain words, without any markup at all. We hope that it finds you well.\n" * 12,
}


def binaries() -> dict[str, bytes]:
    """Files of kinds that are not text."""
    packed, archive, sound = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as z:
        z.writestr(zipfile.ZipInfo("a.txt"), TEXTS["letter.txt"])
    with tarfile.open(fileobj=archive, mode="w") as t:
        entry = tarfile.TarInfo("a.txt")
        entry.size = len(TEXTS["letter.txt"])
        t.addfile(entry, io.BytesIO(TEXTS["letter.txt"].encode()))
    with wave.open(sound, "wb") as w:
        w.setparams((1, 2, 8000, 0, "NONE", ""))
        w.writeframes(bytes(range(256)) * 20)
    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(96)) for y in range(32))
    chunks = [(b"IHDR", bytes.fromhex("0000002000000020") + b"\x08\x02\0\0\0"), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(len(d).to_bytes(4, "big") + n + d + zlib.crc32(n + d).to_bytes(4, "big") for n, d in chunks)
    return {"a.zip": packed.getvalue(), "a.tar": archive.getvalue(), "a.wav": sound.getvalue(), "a.png": png}


def main() -> None:
    """Write {file name: label} to the file named on the command line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in TEXTS.items():
            (folder / file).write_text(text)
        for file, data in binaries().items():
            (folder / file).write_bytes(data)
        paths = sorted(folder.iterdir())
        answer = {r.path.name: str(r.output.label) for r in Magika().identify_paths(paths)}
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f, indent=1)


main()
