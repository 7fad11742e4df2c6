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
static const unsigned char layout[] = {
#embed "../../dashboard/templates/layout.mustache"
};
static const unsigned char page[] = {
#embed "../../dashboard/templates/page.mustache"
};
static const unsigned char plain[] = {
#embed "../../dashboard/templates/plain.mustache"
};
static const unsigned char section[] = {
#embed "../../dashboard/templates/section.mustache"
};
static const unsigned char value[] = {
#embed "../../dashboard/templates/value.mustache"
};
static const unsigned char table[] = {
#embed "../../dashboard/templates/table.mustache"
};
static const unsigned char form[] = {
#embed "../../dashboard/templates/form.mustache"
};
static const unsigned char field[] = {
#embed "../../dashboard/templates/field.mustache"
};
static const unsigned char chart[] = {
#embed "../../dashboard/templates/chart.mustache"
};
static const unsigned char group[] = {
#embed "../../dashboard/templates/group.mustache"
};
static const unsigned char world[] = {
#embed "../../dashboard/world.svg"
};
static const unsigned char map[] = {
#embed "../../dashboard/templates/map.mustache"
};
static const unsigned char calendar[] = {
#embed "../../dashboard/templates/calendar.mustache"
};
static const unsigned char preview[] = {
#embed "../../dashboard/templates/preview.mustache"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}
static const struct belfry_asset assets[] = {
    ASSET("style.css", style),
    ASSET("script.js", script),
    ASSET("icon.svg", icon),
    ASSET("layout.mustache", layout),
    ASSET("page.mustache", page),
    ASSET("plain.mustache", plain),
    ASSET("section.mustache", section),
    ASSET("value.mustache", value),
    ASSET("table.mustache", table),
    ASSET("form.mustache", form),
    ASSET("field.mustache", field),
    ASSET("chart.mustache", chart),
    ASSET("world.svg", world),
    ASSET("group.mustache", group),
    ASSET("map.mustache", map),
    ASSET("preview.mustache", preview),
    ASSET("calendar.mustache", calendar),
};

const struct belfry_asset *belfry_assets(void) { return assets; }
unsigned long belfry_asset_count(void) { return sizeof assets / sizeof assets[0]; }
