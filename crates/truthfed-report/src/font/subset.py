"""Makes Inter-Figures.ttf, the one font of the figures.

    npm pack inter-ui@4.1.1 && tar xzf inter-ui-4.1.1.tgz
    pip install fonttools==4.68.0 brotli
    python subset.py package/web/Inter-Regular.woff2 Inter-Figures.ttf

Keeps Latin, Greek and the signs of plain mathematics; kerning and accents placed over letters. Digits are all
of one width, so that tick labels line up in every renderer, also in those that know no font features.
"""

import sys

from fontTools import subset
from fontTools.ttLib import TTFont

RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x391, 0x3A9), (0x3B1, 0x3C9)]
EXTRA = (
    "\u2009\u202f\u2010\u2011\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2030\u2032\u2033\u2020\u2021"
    "ϕϵ⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉€ℓ←↑→↓↔⇒∂∆∏∑−√∞∫≈≠≤≥✓✗\u0302\u0303\u0304"
)


def characters():
    ranged = [code for first, last in RANGES for code in range(first, last + 1)]
    return ranged + [ord(character) for character in EXTRA]


def tabular_digits(font):
    """Maps the digits to their forms of equal width, which the font has behind a feature."""
    table = font["GSUB"].table
    lookups = [r.Feature.LookupListIndex for r in table.FeatureList.FeatureRecord if r.FeatureTag == "tnum"][0]
    forms = {}
    for index in lookups:
        for lookup in table.LookupList.Lookup[index].SubTable:
            lookup = getattr(lookup, "ExtSubTable", lookup)
            forms.update(lookup.mapping)
    for cmap in font["cmap"].tables:
        for digit in map(ord, "0123456789"):
            cmap.cmap[digit] = forms.get(cmap.cmap[digit], cmap.cmap[digit])


def main(source, target):
    font = TTFont(source, recalcTimestamp=False)
    tabular_digits(font)
    options = subset.Options(layout_features=["kern", "mark", "ccmp"], hinting=False, name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters())
    subsetter.subset(font)
    font.flavor = None
    font.save(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
