package import FoundationEssentials

extension CarmaService {
    /// The lists of a customer, by their apps: each app has one.
    package func lists(of customerID: Int64) async throws -> [CarmaApp] {
        try await store.carmaApps().filter { $0.customerID == customerID }
    }

    package func app(ofList listID: Int64, of customerID: Int64) async throws -> CarmaApp {
        guard let app = try await lists(of: customerID).first(where: { $0.listID == listID }),
            try await store.application(app.applicationKey) != nil
        else { throw StoreError.unknown("such list") }
        return app
    }

    /// Changes a contact, and registers the given tokens.
    ///
    /// - Parameter creates: whether a missing contact is created.
    package func save(
        _ change: CarmaContactChange, in app: CarmaApp, creates: Bool = true
    ) async throws -> CarmaContact {
        let id = try Self.checked(change, needsDevices: false)
        if !creates, try await contact(id, in: app) == nil { throw StoreError.unknown("such contact") }
        guard change.devices.isEmpty else { return try await register(change, in: app) }
        try await store.register([], of: id, try Self.profile(change.attributes), app.applicationKey)
        return try await contact(id, in: app) ?? CarmaContact(app: app, user: User(id: id), devices: [])
    }

    /// The next contacts behind one; with an address, only contacts that have it.
    package func contacts(
        in app: CarmaApp, having address: String?, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser] {
        if let address {
            return try await store.users(
                of: app.applicationKey, having: "emailAddress", .text(address), after: after, limit: limit)
        }
        guard let found = try await store.users(of: app.applicationKey, after: after, limit: limit) else {
            throw InvalidInput(field: "lastId", "is not the id of a contact of this list")
        }
        return found
    }
}

// MARK: - Imports

extension CarmaService {
    package func createImport(_ settings: CarmaImport.Settings, in app: CarmaApp) async throws -> CarmaImport {
        try await store.createCarmaImport(UUID(), settings, of: app.key)
    }

    /// The import of a batch, where its list is one of the customer's.
    package func batch(_ id: Int64, of customerID: Int64) async throws -> CarmaImport {
        guard let found = try await store.carmaImport(Key(id)),
            try await lists(of: customerID).contains(where: { $0.key == found.app })
        else { throw StoreError.unknown("such batch") }
        return found
    }

    /// Imports a list, and returns when all its contacts are written. A list may come again.
    package func run(_ uuid: UUID, in app: CarmaApp, _ bytes: [UInt8]) async throws -> CarmaImport {
        guard let list = try await store.carmaImport(uuid, of: app.key),
            let begun = try await store.beginCarmaImport(list.key)
        else { throw StoreError.unknown("such import") }
        let end: CarmaImportEnd
        do {
            end = try await take(list, in: app, bytes, begun)
        } catch {
            // Where this cannot be written either, it is left as it is.
            try? await store.endCarmaImport(
                list.key, CarmaImportEnd(taken: 0, refused: 0, reason: "the list was not taken whole: send it again"))
            throw error
        }
        try await store.endCarmaImport(list.key, end)
        return list
    }

    /// The number of lines that are written side by side, so that they share transactions.
    private static let linesAtOnce = 256

    private func take(
        _ list: CarmaImport, in app: CarmaApp, _ bytes: [UInt8], _ begun: Instant
    ) async throws -> CarmaImportEnd {
        var table: CarmaTable
        do {
            table = try CarmaTable(bytes, list.settings)
        } catch {
            return CarmaImportEnd(taken: 0, refused: 0, reason: "\(error)".prefix(bytes: CarmaImport.reasonBytesMax))
        }
        var (taken, refused, reason): (Int, Int, String?) = (0, 0, nil)
        // Contacts of refused lines; nil once a line names none.
        var named: Set<String>? = []
        var lines: [CarmaTable.Line] = []
        while true {
            let line = table.next()
            if let line { lines.append(line) }
            guard line == nil || lines.count == Self.linesAtOnce else { continue }
            for (number, contact, refusal) in try await write(lines, list.settings.kind, in: app, begun) {
                if let refusal {
                    refused += 1
                    if let contact { named?.insert(contact) } else { named = nil }
                    reason = reason ?? "line \(number): \(refusal)".prefix(bytes: CarmaImport.reasonBytesMax)
                } else {
                    taken += 1
                }
            }
            lines.removeAll(keepingCapacity: true)
            if line == nil { break }
        }
        if list.settings.kind == .replace, let named, taken > 0 || refused == 0 {
            try await deactivateOthers(of: app, before: begun, except: named)
        }
        return CarmaImportEnd(taken: taken, refused: refused, reason: reason)
    }

    /// A written line. The contact is nil where the line could not be read.
    private typealias Ended = (number: Int, contact: String?, refusal: String?)

    /// Writes lines and returns the reason why each was refused, in their order. Lines of one contact are written one after another.
    private func write(
        _ lines: [CarmaTable.Line], _ kind: CarmaImport.Settings.Kind, in app: CarmaApp, _ begun: Instant
    ) async throws -> [Ended] {
        var contacts: [String: [(Int, CarmaContactChange)]] = [:]
        var ended: [Ended] = []
        for line in lines {
            switch line.contact {
            case .success(let change):
                contacts[change.originalID?.asName ?? "", default: []].append((line.number, change))
            case .failure(let error): ended.append((line.number, nil, "\(error)"))
            }
        }
        try await withThrowingTaskGroup(of: [Ended].self) { group in
            for (contact, changes) in contacts {
                group.addTask {
                    var ended: [Ended] = []
                    for (number, change) in changes {
                        ended.append((number, contact, try await write(change, kind, in: app, begun)))
                    }
                    return ended
                }
            }
            for try await some in group { ended += some }
        }
        return ended.sorted { $0.number < $1.number }
    }

    /// Writes a line; returns the reason if it is refused.
    private func write(
        _ change: CarmaContactChange, _ kind: CarmaImport.Settings.Kind, in app: CarmaApp, _ begun: Instant
    ) async throws -> String? {
        var change = change
        do {
            switch kind {
            case .add: break
            case .replace: change.attributes["active"] = .flag(true)
            case .unsubscribe:
                guard let id = change.originalID, try await contact(id, in: app) != nil else {
                    return "no such contact"
                }
                change.attributes = ["optOutDate": .time(begun)]
                change.devices = []
            }
            _ = try await save(change, in: app)
            return nil
        } catch let error as InvalidInput {
            return "\(error.renamed(CarmaAttribute.registered))"
        } catch StoreError.quotaExceeded(let excess) {
            return "\(excess)"
        }
    }

    /// Deactivates users that were not changed since the list came; those in the list were, unless their line was refused.
    private func deactivateOthers(of app: CarmaApp, before begun: Instant, except named: Set<String>) async throws {
        var last: String?
        while true {
            let users = try await store.users(
                of: app.applicationKey, containing: nil, after: last, limit: Self.linesAtOnce)
            try await withThrowingDiscardingTaskGroup { group in
                for user in users where user.profile.attributes["active"] != .flag(false) {
                    guard let updatedAt = user.updatedAt, updatedAt < begun, !named.contains(user.id) else { continue }
                    group.addTask {
                        _ = try await store.setUser(user.id, of: app.applicationKey, changedBefore: begun) {
                            try $0.changed(by: UserProfile.Change(attributes: ["active": .flag(false)]))
                        }
                    }
                }
            }
            guard let next = users.last?.id else { return }
            last = next
        }
    }
}
