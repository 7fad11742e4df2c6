#include "CContract.h"

// C has a word for this and Swift has none: a resource bundle would be a second file beside the one that is installed,
// and the array literal that SwiftPM makes of an embedded resource takes the Swift compiler minutes.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const unsigned char bytes[] = {
#embed "../../api/openapi.yaml"
};

const unsigned char *belfry_contract_bytes(void) { return bytes; }
unsigned long belfry_contract_count(void) { return sizeof bytes; }
