package import BelfryService
package import FoundationEssentials

extension WrappedStore {
    package func createCarmaAccount(
        customerID: Int64, user: String, passwordHash: [UInt8], tokenHash: [UInt8]
    ) async throws -> CarmaAccount {
        try await base.createCarmaAccount(
            customerID: customerID, user: user, passwordHash: passwordHash, tokenHash: tokenHash)
    }
    package func carmaAccounts() async throws -> [CarmaAccount] { try await base.carmaAccounts() }
    package func carmaAccounts(user: String) async throws -> [CarmaAccount] {
        try await base.carmaAccounts(user: user)
    }
    package func carmaAccount(tokenHash: [UInt8]) async throws -> CarmaAccount? {
        try await base.carmaAccount(tokenHash: tokenHash)
    }
    package func replaceSecrets(
        of account: Key<CarmaAccount>, passwordHash: [UInt8]?, tokenHash: [UInt8]
    ) async throws -> Bool {
        try await base.replaceSecrets(of: account, passwordHash: passwordHash, tokenHash: tokenHash)
    }
    package func delete(_ account: Key<CarmaAccount>) async throws -> Bool { try await base.delete(account) }
    package func createCarmaApp(
        customerID: Int64, appID: String, for application: Key<Application>
    ) async throws -> CarmaApp {
        try await base.createCarmaApp(customerID: customerID, appID: appID, for: application)
    }
    package func carmaApps() async throws -> [CarmaApp] { try await base.carmaApps() }
    package func carmaApp(_ appID: String, of customerID: Int64) async throws -> CarmaApp? {
        try await base.carmaApp(appID, of: customerID)
    }
    package func delete(_ app: Key<CarmaApp>) async throws -> Bool { try await base.delete(app) }
    package func createCarmaTrigger(_ template: CarmaTemplate, of app: CarmaApp) async throws -> CarmaTrigger {
        try await base.createCarmaTrigger(template, of: app)
    }
    package func carmaTrigger(_ key: Key<CarmaTrigger>) async throws -> CarmaTrigger? {
        try await base.carmaTrigger(key)
    }
    package func carmaTriggers(of app: Key<CarmaApp>) async throws -> [CarmaTrigger] {
        try await base.carmaTriggers(of: app)
    }
    package func delete(_ trigger: Key<CarmaTrigger>) async throws -> Bool { try await base.delete(trigger) }
    package func note(_ device: CarmaDevice) async throws { try await base.note(device) }
    package func carmaDevices(of contact: String, _ application: Key<Application>) async throws -> [CarmaDevice] {
        try await base.carmaDevices(of: contact, application)
    }
    package func create(_ message: NewCarmaMessage) async throws -> CarmaMessage { try await base.create(message) }
    package func setPush(
        _ receiptID: UUID?, schedule: Key<Schedule>?, of message: Key<CarmaMessage>
    ) async throws {
        try await base.setPush(receiptID, schedule: schedule, of: message)
    }
    package func carmaMessage(pageHash: [UInt8]) async throws -> CarmaMessage? {
        try await base.carmaMessage(pageHash: pageHash)
    }
    package func markRead(_ message: Key<CarmaMessage>) async throws -> Bool { try await base.markRead(message) }
    package func carmaMessages(of contact: String, _ application: Key<Application>) async throws -> [CarmaMessage] {
        try await base.carmaMessages(of: contact, application)
    }
    package func createCarmaImport(
        _ uuid: UUID, _ settings: CarmaImport.Settings, of app: Key<CarmaApp>
    ) async throws -> CarmaImport { try await base.createCarmaImport(uuid, settings, of: app) }
    package func carmaImport(_ uuid: UUID, of app: Key<CarmaApp>) async throws -> CarmaImport? {
        try await base.carmaImport(uuid, of: app)
    }
    package func carmaImport(_ key: Key<CarmaImport>) async throws -> CarmaImport? {
        try await base.carmaImport(key)
    }
    package func beginCarmaImport(_ key: Key<CarmaImport>) async throws -> Instant? {
        try await base.beginCarmaImport(key)
    }
    package func endCarmaImport(_ key: Key<CarmaImport>, _ end: CarmaImportEnd) async throws {
        try await base.endCarmaImport(key, end)
    }
    package func forgetCarmaContact(_ contact: String, of application: Key<Application>) async throws {
        try await base.forgetCarmaContact(contact, of: application)
    }
}
