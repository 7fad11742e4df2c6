package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func createCarmaAccount(
        customerID: Int64, user: String, passwordHash: [UInt8], tokenHash: [UInt8]
    ) async throws -> CarmaAccount {
        let now = clock.now
        return try transaction { contents in
            guard !contents.carmaAccounts.contains(where: { $0.customerID == customerID && $0.user == user }) else {
                throw StoreError.conflict("the customer has an account of that user")
            }
            let account = CarmaAccount(
                key: contents.nextKey(), customerID: customerID, user: user, passwordHash: passwordHash,
                tokenHash: tokenHash, createdAt: now)
            contents.carmaAccounts.append(account)
            return account
        }
    }

    package func carmaAccounts() async throws -> [CarmaAccount] { contents.carmaAccounts }

    package func carmaAccounts(user: String) async throws -> [CarmaAccount] {
        contents.carmaAccounts.filter { $0.user == user }
    }

    package func carmaAccount(tokenHash: [UInt8]) async throws -> CarmaAccount? {
        contents.carmaAccounts.first { $0.tokenHash == tokenHash }
    }

    package func replaceSecrets(
        of account: Key<CarmaAccount>, passwordHash: [UInt8]?, tokenHash: [UInt8]
    ) async throws -> Bool {
        transaction { contents in
            guard let place = contents.carmaAccounts.firstIndex(where: { $0.key == account }) else { return false }
            let old = contents.carmaAccounts[place]
            contents.carmaAccounts[place] = CarmaAccount(
                key: old.key, customerID: old.customerID, user: old.user,
                passwordHash: passwordHash ?? old.passwordHash,
                tokenHash: tokenHash, createdAt: old.createdAt)
            return true
        }
    }

    package func delete(_ account: Key<CarmaAccount>) async throws -> Bool {
        transaction { $0.carmaAccounts.removeOne { $0.key == account } }
    }

    package func createCarmaApp(
        customerID: Int64, appID: String, for application: Key<Application>
    ) async throws -> CarmaApp {
        try transaction { contents in
            guard !contents.carmaApps.contains(where: { $0.customerID == customerID && $0.appID == appID }) else {
                throw StoreError.conflict("the customer has an app of that id")
            }
            let app = CarmaApp(
                key: contents.nextKey(), customerID: customerID, appID: appID, applicationKey: application)
            contents.carmaApps.append(app)
            return app
        }
    }

    package func carmaApps() async throws -> [CarmaApp] { contents.carmaApps }

    package func carmaApp(_ appID: String, of customerID: Int64) async throws -> CarmaApp? {
        contents.carmaApps.first { $0.appID == appID && $0.customerID == customerID }
    }

    package func delete(_ app: Key<CarmaApp>) async throws -> Bool {
        transaction { contents in
            contents.carmaTriggers.removeAll { $0.app == app }
            contents.carmaImports.removeAll { $0.app == app }
            return contents.carmaApps.removeOne { $0.key == app }
        }
    }

    package func createCarmaTrigger(_ template: CarmaTemplate, of app: CarmaApp) async throws -> CarmaTrigger {
        transaction { contents in
            let trigger = CarmaTrigger(key: contents.nextKey(), app: app.key, template: template)
            contents.carmaTriggers.append(trigger)
            return trigger
        }
    }

    package func carmaTrigger(_ key: Key<CarmaTrigger>) async throws -> CarmaTrigger? {
        contents.carmaTriggers.first { $0.key == key }
    }

    package func carmaTriggers(of app: Key<CarmaApp>) async throws -> [CarmaTrigger] {
        contents.carmaTriggers.filter { $0.app == app }
    }

    package func delete(_ trigger: Key<CarmaTrigger>) async throws -> Bool {
        transaction { $0.carmaTriggers.removeOne { $0.key == trigger } }
    }
}

extension MemoryStore {
    package func note(_ device: CarmaDevice) async throws {
        transaction { contents in
            if device.invalidation == .none {
                contents.carmaDevices.removeAll {
                    $0.applicationKey == device.applicationKey && $0.device == device.device
                        && $0.token == device.token && $0.contact != device.contact
                }
            }
            let place = contents.carmaDevices.firstIndex {
                $0.isOf(device.contact, device.applicationKey) && $0.token == device.token
            }
            if let place {
                contents.carmaDevices[place] = device.with(
                    country: device.country ?? contents.carmaDevices[place].country)
                return
            }
            contents.carmaDevices.append(device)
            let all = contents.carmaDevices.filter { $0.isOf(device.contact, device.applicationKey) }
            let surplus = Set(all.dropLast(CarmaDevice.perContact))
            contents.carmaDevices.removeAll { surplus.contains($0) }
        }
    }

    package func carmaDevices(of contact: String, _ application: Key<Application>) async throws -> [CarmaDevice] {
        contents.carmaDevices.filter { $0.isOf(contact, application) }
    }

    package func create(_ new: NewCarmaMessage) async throws -> CarmaMessage {
        let now = clock.now
        return transaction { contents in
            let message = CarmaMessage(
                key: contents.nextKey(), applicationKey: new.applicationKey, trigger: new.trigger, contact: new.contact,
                name: new.name, html: new.html, receiptID: nil, schedule: nil, sentAt: now, readAt: nil)
            contents.carmaMessages.append((message, new.pageHash))
            let all = contents.carmaMessages.map(\.message).filter {
                $0.contact == new.contact && $0.applicationKey == new.applicationKey
            }
            let surplus = Set(all.dropLast(CarmaMessage.perContact).map(\.key))
            contents.carmaMessages.removeAll { surplus.contains($0.message.key) }
            return message
        }
    }

    package func setPush(
        _ receiptID: UUID?, schedule: Key<Schedule>?, of message: Key<CarmaMessage>
    ) async throws {
        _ = change(message) { $0.with(receiptID: receiptID, schedule: schedule, readAt: $0.readAt) }
    }

    package func carmaMessage(pageHash: [UInt8]) async throws -> CarmaMessage? {
        contents.carmaMessages.first { $0.pageHash == pageHash }?.message
    }

    package func markRead(_ message: Key<CarmaMessage>) async throws -> Bool {
        let now = clock.now
        return change(message) {
            $0.readAt == nil ? $0.with(receiptID: $0.receiptID, schedule: $0.schedule, readAt: now) : nil
        }
    }

    private func change(_ key: Key<CarmaMessage>, _ change: (CarmaMessage) -> CarmaMessage?) -> Bool {
        transaction { contents in
            guard let place = contents.carmaMessages.firstIndex(where: { $0.message.key == key }),
                let changed = change(contents.carmaMessages[place].message)
            else { return false }
            contents.carmaMessages[place].message = changed
            return true
        }
    }

    package func carmaMessages(of contact: String, _ application: Key<Application>) async throws -> [CarmaMessage] {
        contents.carmaMessages.map(\.message).filter { $0.contact == contact && $0.applicationKey == application }
            .reversed()
    }

    package func forgetCarmaContact(_ contact: String, of application: Key<Application>) async throws {
        transaction { contents in
            contents.carmaDevices.removeAll { $0.isOf(contact, application) }
            contents.carmaMessages.removeAll {
                $0.message.contact == contact && $0.message.applicationKey == application
            }
        }
    }
}

extension MemoryStore {
    package func createCarmaImport(
        _ uuid: UUID, _ settings: CarmaImport.Settings, of app: Key<CarmaApp>
    ) async throws -> CarmaImport {
        let now = clock.now
        return transaction { contents in
            let made = CarmaImport(
                key: contents.nextKey(), uuid: uuid, app: app, settings: settings, createdAt: now)
            contents.carmaImports.append(made)
            let surplus = Set(contents.carmaImports.filter { $0.app == app }.dropLast(CarmaImport.perApp))
            contents.carmaImports.removeAll { surplus.contains($0) }
            return made
        }
    }

    package func carmaImport(_ uuid: UUID, of app: Key<CarmaApp>) async throws -> CarmaImport? {
        contents.carmaImports.first { $0.uuid == uuid && $0.app == app }
    }

    package func carmaImport(_ key: Key<CarmaImport>) async throws -> CarmaImport? {
        contents.carmaImports.first { $0.key == key }
    }

    package func beginCarmaImport(_ key: Key<CarmaImport>) async throws -> Instant? {
        change(key) { $0.with(.running, CarmaImportEnd(taken: 0, refused: 0, reason: nil)) } ? clock.now : nil
    }

    package func endCarmaImport(_ key: Key<CarmaImport>, _ end: CarmaImportEnd) async throws {
        _ = change(key) { $0.with(end.state, end) }
    }

    private func change(_ key: Key<CarmaImport>, _ change: (CarmaImport) -> CarmaImport) -> Bool {
        transaction { contents in
            guard let place = contents.carmaImports.firstIndex(where: { $0.key == key }) else { return false }
            contents.carmaImports[place] = change(contents.carmaImports[place])
            return true
        }
    }
}

extension CarmaImport {
    fileprivate func with(_ state: State, _ end: CarmaImportEnd) -> CarmaImport {
        CarmaImport(
            key: key, uuid: uuid, app: app, settings: settings, state: state, taken: end.taken, refused: end.refused,
            reason: end.reason, createdAt: createdAt)
    }
}

extension Contents {
    mutating func removeCarma(of application: Key<Application>? = nil, on platform: Key<Platform>? = nil) {
        let apps = Set(carmaApps.filter { $0.applicationKey == application }.map(\.key))
        carmaTriggers.removeAll { apps.contains($0.app) }
        carmaImports.removeAll { apps.contains($0.app) }
        carmaApps.removeAll { apps.contains($0.key) }
        carmaDevices.removeAll { $0.applicationKey == application || $0.platformKey == platform }
        carmaMessages.removeAll { $0.message.applicationKey == application }
    }
}

extension CarmaDevice {
    fileprivate func isOf(_ contact: String, _ application: Key<Application>) -> Bool {
        self.contact == contact && applicationKey == application
    }

    fileprivate func with(country: String?) -> CarmaDevice {
        CarmaDevice(
            applicationKey: applicationKey, contact: contact, token: token, platformKey: platformKey, device: device,
            country: country, invalidation: invalidation, invalidatedAt: invalidatedAt)
    }
}

extension CarmaMessage {
    fileprivate func with(receiptID: UUID?, schedule: Key<Schedule>?, readAt: Instant?) -> CarmaMessage {
        CarmaMessage(
            key: key, applicationKey: applicationKey, trigger: trigger, contact: contact, name: name, html: html,
            receiptID: receiptID, schedule: schedule, sentAt: sentAt, readAt: readAt)
    }
}

extension Array {
    /// Whether there was one.
    fileprivate mutating func removeOne(where isMeant: (Element) -> Bool) -> Bool {
        let before = count
        removeAll(where: isMeant)
        return count < before
    }
}
