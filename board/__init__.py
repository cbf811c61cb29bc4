"""The board: entry points of other people's libraries, judged by what they promise.

`catalogue` reads the entry points from `entries/ADAPTER.toml`. An `entry.Entry` says which library and environment
it has, which kinds it promises, and what is known of its failures. An adapter (`adapters/ADAPTER.py`) imports its
library alone. It runs in the Python of an environment (`environments`), on the far side of a pipe (`far`,
`process`). So the library never meets this package, and the judge never meets the library.

`judging` judges one entry point, in a process of its own (`__main__`), and writes one JSON file. `run` starts
those processes, two at a time. `snippets` runs what shows a failure, in that environment. `cells` reads the JSON
files. It refuses a failure that nothing shows, and one without an `entry.Category`. `page` and `figure` make the
board of them. `command` does all of it. A wheel has none of this, but the committed board
(`attnlab_theory.conform.board`).
"""
