package import BelfryCore
package import FoundationEssentials

extension SQLiteStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let named = uuid.flatMap(secrets.naming.device(of:))
        let tokenHash = secrets.hash(of: registration.token)
        return try await write { session in
            try SQLiteRegistrar(
                session: session, platform: platform, registration: registration, named: named, tokenHash: tokenHash
            ).register()
        }
    }
}
