package import FoundationEssentials

/// The app ids of Acrobits' softphones, and the accounts that the softphones reported.
package protocol AcrobitsStore: Sendable {
    /// Replaces the app id of that name and platform.
    func set(_ appID: AcrobitsAppID) async throws
    /// All app ids of an application, by name.
    func acrobitsAppIDs(of application: Key<Application>) async throws -> [AcrobitsAppID]
    /// The app ids with that name, of every application.
    func acrobitsAppIDs(named name: String) async throws -> [AcrobitsAppID]
    /// Returns false when the application has none of that name.
    func deleteAcrobitsAppID(_ name: String, of application: Key<Application>) async throws -> Bool

    /// Replaces the registration of that selector and app id, and deletes those of the device beyond `AcrobitsRegistration.perDevice`.
    func note(_ registration: AcrobitsRegistration) async throws
    func acrobitsRegistrations(
        selector: String, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration]
    /// All selectors of a device.
    func acrobitsRegistrations(
        device: UUID, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration]
    /// Forgets an account on a device.
    func deleteAcrobitsRegistrations(selector: String, of application: Key<Application>) async throws
}
