// BelfryCoreTests
