package import BelfryCore
package import FoundationEssentials

extension PostgresStore {
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        let entry = RegistrationEntry(
            registration: registration, platform: platform, named: uuid.flatMap(secrets.naming.device(of:)),
            tokenHash: secrets.hash(registration.token))
        return try await registrations.register(entry, in: self)
    }
}
