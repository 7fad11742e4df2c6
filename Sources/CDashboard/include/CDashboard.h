/// A file of the folder dashboard/, as it was when the server was built.
struct belfry_asset {
    const char *name;
    const unsigned char *bytes;
    unsigned long count;
};

const struct belfry_asset *belfry_assets(void);
unsigned long belfry_asset_count(void);
