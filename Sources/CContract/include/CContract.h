/// The bytes of api/openapi.yaml, as it was when the server was built.
const unsigned char *belfry_contract_bytes(void);
unsigned long belfry_contract_count(void);
