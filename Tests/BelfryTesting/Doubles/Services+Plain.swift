package import BelfryService

extension Services {
    /// Services as most tests need them, with secrets in plain text.
    package convenience init(
        _ store: any Store, vault: any Vault = PlaintextVault(), clock: any WallClock,
        credentials: (any ProviderCredentials)? = nil, requestLimiter: RequestLimiter? = nil,
        shares: ConcurrencyLimiter = ConcurrencyLimiter()
    ) {
        self.init(
            store: store, vault: vault, clock: clock, credentials: credentials ?? PlaintextCredentials(vault: vault),
            passwords: PlainPasswords(), requestLimiter: requestLimiter, shares: shares)
    }
}
