package import BelfryService
package import FoundationEssentials

extension WrappedStore {
    package func set(_ appID: AcrobitsAppID) async throws { try await base.set(appID) }
    package func acrobitsAppIDs(of application: Key<Application>) async throws -> [AcrobitsAppID] {
        try await base.acrobitsAppIDs(of: application)
    }
    package func acrobitsAppIDs(named name: String) async throws -> [AcrobitsAppID] {
        try await base.acrobitsAppIDs(named: name)
    }
    package func deleteAcrobitsAppID(_ name: String, of application: Key<Application>) async throws -> Bool {
        try await base.deleteAcrobitsAppID(name, of: application)
    }
    package func note(_ registration: AcrobitsRegistration) async throws { try await base.note(registration) }
    package func acrobitsRegistrations(
        selector: String, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        try await base.acrobitsRegistrations(selector: selector, of: application)
    }
    package func acrobitsRegistrations(
        device: UUID, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        try await base.acrobitsRegistrations(device: device, of: application)
    }
    package func deleteAcrobitsRegistrations(selector: String, of application: Key<Application>) async throws {
        try await base.deleteAcrobitsRegistrations(selector: selector, of: application)
    }
}
