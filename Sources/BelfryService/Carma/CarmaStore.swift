package import FoundationEssentials

/// The customers of Carma that move here, with their apps, contacts' devices and messages.
package protocol CarmaStore: Sendable {
    /// Throws `StoreError.conflict` when the customer has an account of that user.
    func createCarmaAccount(
        customerID: Int64, user: String, passwordHash: [UInt8], tokenHash: [UInt8]
    ) async throws -> CarmaAccount
    func carmaAccounts() async throws -> [CarmaAccount]
    func carmaAccounts(user: String) async throws -> [CarmaAccount]
    func carmaAccount(tokenHash: [UInt8]) async throws -> CarmaAccount?
    /// nil keeps the password. Returns false when there is none.
    func replaceSecrets(
        of account: Key<CarmaAccount>, passwordHash: [UInt8]?, tokenHash: [UInt8]
    ) async throws -> Bool
    func delete(_ account: Key<CarmaAccount>) async throws -> Bool

    /// Throws `StoreError.conflict` when the customer has an app of that id.
    func createCarmaApp(
        customerID: Int64, appID: String, for application: Key<Application>
    ) async throws -> CarmaApp
    func carmaApps() async throws -> [CarmaApp]
    func carmaApp(_ appID: String, of customerID: Int64) async throws -> CarmaApp?
    /// With its triggers and imports.
    func delete(_ app: Key<CarmaApp>) async throws -> Bool

    func createCarmaTrigger(_ template: CarmaTemplate, of app: CarmaApp) async throws -> CarmaTrigger
    func carmaTrigger(_ key: Key<CarmaTrigger>) async throws -> CarmaTrigger?
    func carmaTriggers(of app: Key<CarmaApp>) async throws -> [CarmaTrigger]
    func delete(_ trigger: Key<CarmaTrigger>) async throws -> Bool

    /// Adds a token to a contact, or replaces the row of it; another contact that has it loses it.
    func note(_ device: CarmaDevice) async throws
    /// The devices of a contact, in the order in which they were added.
    func carmaDevices(of contact: String, _ application: Key<Application>) async throws -> [CarmaDevice]

    /// Keeps a message; those of the contact beyond `CarmaMessage.perContact` are deleted.
    func create(_ message: NewCarmaMessage) async throws -> CarmaMessage
    func setPush(_ receiptID: UUID?, schedule: Key<Schedule>?, of message: Key<CarmaMessage>) async throws
    func carmaMessage(pageHash: [UInt8]) async throws -> CarmaMessage?
    /// Returns false when it was read before.
    func markRead(_ message: Key<CarmaMessage>) async throws -> Bool
    /// The latest first.
    func carmaMessages(of contact: String, _ application: Key<Application>) async throws -> [CarmaMessage]
    /// Writes down an import before its list comes; those of the app beyond `CarmaImport.perApp` are deleted.
    func createCarmaImport(
        _ uuid: UUID, _ settings: CarmaImport.Settings, of app: Key<CarmaApp>
    ) async throws -> CarmaImport
    func carmaImport(_ uuid: UUID, of app: Key<CarmaApp>) async throws -> CarmaImport?
    func carmaImport(_ key: Key<CarmaImport>) async throws -> CarmaImport?
    /// Notes that an import's list has come, and returns the time at which it did; nil where there is no such import.
    func beginCarmaImport(_ key: Key<CarmaImport>) async throws -> Instant?
    func endCarmaImport(_ key: Key<CarmaImport>, _ end: CarmaImportEnd) async throws

    /// Deletes the tokens and messages of a contact.
    func forgetCarmaContact(_ contact: String, of application: Key<Application>) async throws
}
