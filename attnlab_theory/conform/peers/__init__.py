"""The board: entry points of other people's libraries, judged by what they promise.

`catalogue` holds the entry points of `entries`. An `entry.Entry` says which library and environment it has, which
kinds it promises, and what its library documents. An adapter (`adapters/LIBRARY.py`) imports that library alone.
It runs in the Python of an environment (`environments`), on the far side of a pipe (`far`, `process`). So the
library never meets this package, and the judge never meets the library.

`judging` judges one entry point, in a process of its own (`__main__`), and writes one JSON file. `run` starts those
processes, two at a time. `snippets` runs what shows a failure, in that environment. `cells` reads the JSON files,
and refuses a failure that nothing shows. `page` and `figure` make the board of them. `board` does all of it.
"""
