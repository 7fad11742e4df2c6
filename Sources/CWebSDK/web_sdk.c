#include "CWebSDK.h"

// As in contract.c: C embeds files where Swift would copy them beside the program.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char script[] = {
#embed "../../SDK/web/belfry.js"
};
static const unsigned char types[] = {
#embed "../../SDK/web/belfry.d.ts"
};
static const unsigned char worker[] = {
#embed "../../SDK/web/belfry-worker.js"
};
static const unsigned char encryption[] = {
#embed "../../SDK/web/belfry-encryption.js"
};
static const unsigned char test_page[] = {
#embed "../../SDK/web/test.html"
};
static const unsigned char test_script[] = {
#embed "../../SDK/web/test.js"
};

belfry_web_sdk_file belfry_web_sdk_script(void) { return (belfry_web_sdk_file){script, sizeof script}; }
belfry_web_sdk_file belfry_web_sdk_types(void) { return (belfry_web_sdk_file){types, sizeof types}; }
belfry_web_sdk_file belfry_web_sdk_worker(void) { return (belfry_web_sdk_file){worker, sizeof worker}; }
belfry_web_sdk_file belfry_web_sdk_encryption(void) { return (belfry_web_sdk_file){encryption, sizeof encryption}; }
belfry_web_sdk_file belfry_web_sdk_test_page(void) { return (belfry_web_sdk_file){test_page, sizeof test_page}; }
belfry_web_sdk_file belfry_web_sdk_test_script(void) { return (belfry_web_sdk_file){test_script, sizeof test_script}; }
