#include "CDashboard.h"

// C has a word for this and Swift has none; see CContract.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char style[] = {
#embed "../../dashboard/style.css"
};
static const unsigned char script[] = {
#embed "../../dashboard/script.js"
};
static const unsigned char icon[] = {
#embed "../../dashboard/icon.svg"
};
static const unsigned char world[] = {
#embed "../../dashboard/world.svg"
};
static const unsigned char places[] = {
#embed "../../dashboard/places.txt"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}
static const struct belfry_asset assets[] = {
    ASSET("style.css", style),
    ASSET("script.js", script),
    ASSET("icon.svg", icon),
    ASSET("world.svg", world),
    ASSET("places.txt", places),
};

const struct belfry_asset *belfry_assets(void) { return assets; }
unsigned long belfry_asset_count(void) { return sizeof assets / sizeof assets[0]; }
