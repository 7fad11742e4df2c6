/// A file of the web SDK, as it was when the server was built.
typedef struct {
    const unsigned char *bytes;
    unsigned long count;
} belfry_web_sdk_file;

belfry_web_sdk_file belfry_web_sdk_script(void);
belfry_web_sdk_file belfry_web_sdk_types(void);
belfry_web_sdk_file belfry_web_sdk_worker(void);
belfry_web_sdk_file belfry_web_sdk_encryption(void);
belfry_web_sdk_file belfry_web_sdk_test_page(void);
belfry_web_sdk_file belfry_web_sdk_test_script(void);
