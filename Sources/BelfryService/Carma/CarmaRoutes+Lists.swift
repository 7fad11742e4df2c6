import FoundationEssentials
import Hummingbird
import Metrics

/// Lists of contacts, as far as pushes need them: contacts and their properties come by them before, or without, an app.
extension CarmaRoutes {
    func addLists(to router: Router<APIContext>, _ customer: String) {
        let lists = "\(customer)/lists"
        router.serve(RouterPath(lists), [.get: answering(listAll)])
        router.serve(RouterPath("\(lists)/:list_id"), [.get: answering(showList)])
        let contacts = "\(lists)/:list_id/contacts"
        router.serve(RouterPath(contacts), [.get: answering(listContacts), .post: answering { try await save($0) }])
        // A contact may have this name too; it is shown by the path of devices.
        router.serve(
            RouterPath("\(contacts)/all"),
            [.get: answering(listContacts), .post: answering { try await save($0, named: "all") }])
        router.serve(
            RouterPath("\(contacts)/:original_id"),
            [.get: answering(showContact), .post: answering { try await save($0) }])
        for (path, name) in [(":original_id", nil), ("all", "all")] as [(String, String?)] {
            router.serve(
                RouterPath("\(contacts)/\(path)/update"), [.put: answering { try await update($0, named: name) }])
            router.serve(
                RouterPath("\(contacts)/\(path)/messages"), [.get: answering { try await history($0, named: name) }])
        }
        router.serve(RouterPath("\(lists)/:list_id/imports"), [.post: answering(createImport)])
        router.serve(
            RouterPath("\(lists)/:list_id/recipients/:import_id"),
            [.post: answering(atMost: Carma.listBytesMax, bringIn)])
        router.serve(RouterPath("\(customer)/batches/:batch_id"), [.get: answering(showBatch)])
    }

    // MARK: Lists

    private func listAll(_ call: Call) async throws -> Response {
        let type = try call.request.query.integer("typeId", from: 0) ?? Carma.listType
        guard type == Carma.listType else { return Self.reply(.array([])) }
        return Self.reply(.array(try await carma.lists(of: call.customerID).map(\.json)))
    }

    private func app(ofList call: Call) async throws -> CarmaApp {
        try await carma.app(ofList: call.number("list_id"), of: call.customerID)
    }

    private func showList(_ call: Call) async throws -> Response { Self.reply(try await app(ofList: call).json) }

    // MARK: Contacts

    private static let pageSizeMax = 1_000

    private func listContacts(_ call: Call) async throws -> Response {
        let (app, query) = (try await app(ofList: call), call.request.query)
        let size = try query.integer("pageSize", from: 1) ?? Self.pageSizeMax
        // -1 and 0 stand before the first.
        let last = try query.integer("lastId", from: -1) ?? -1
        let hasProperties = try query.bool("includeProperties") ?? true
        let found = try await carma.contacts(
            in: app, having: query["email"], after: last > 0 ? Key(Int64(last)) : nil,
            limit: min(size, Self.pageSizeMax))
        return Self.reply(
            .array(found.map { CarmaContact(app: app, user: $0.user, devices: []).line($0.key, hasProperties) }))
    }

    private func showContact(_ call: Call) async throws -> Response {
        try await show(call.parameters.get("original_id") ?? "", in: try await app(ofList: call))
    }

    private func update(_ call: Call, named name: String?) async throws -> Response {
        try await save(call, named: name, creates: try call.request.query.bool("force") ?? false)
    }

    /// The id in the path, where there is one, is the contact's.
    private func save(_ call: Call, named name: String? = nil, creates: Bool = true) async throws -> Response {
        let app = try await app(ofList: call)
        var change = try CarmaContactChange(try await call.body())
        if let name = name ?? call.parameters.get("original_id") {
            let ids = Self.ids(name)
            var own = change.originalID ?? ""
            // The client in Go sends an empty id where it has none.
            if own.isEmpty { own = try await named(name, in: app).id }
            guard ids.contains(own) else {
                throw InvalidInput(field: "originalId", "is '\(own)', the path says '\(ids[0])'")
            }
            change.originalID = own
        }
        let contact = try await carma.save(change, in: app, creates: creates)
        registered.increment(by: change.devices.count { !$0.isInvalid })
        return Self.reply(contact.json)
    }

    private func history(_ call: Call, named name: String?) async throws -> Response {
        let app = try await app(ofList: call)
        let id = try await named(name ?? call.parameters.get("original_id") ?? "", in: app).id
        let messages = try await carma.messages(to: id, of: app)
        return Self.reply(.array(messages.map { $0.json(contactID: id, at: carma.clock.now) }))
    }

    // MARK: Imports

    private func createImport(_ call: Call) async throws -> Response {
        let app = try await app(ofList: call)
        try Carma.refuseDryRun(try call.request.query.bool("dryRun"))
        let settings = try CarmaImport.Settings(try await call.body())
        let made = try await carma.createImport(settings, in: app)
        return Self.reply(.object(["id": .string(made.uuid.lowercased)]))
    }

    /// It is answered when the contacts are written, so its batch has ended when the sender learns of it.
    private func bringIn(_ call: Call) async throws -> Response {
        let app = try await app(ofList: call)
        try Carma.refuseDryRun(try call.request.query.bool("dryRun"))
        guard let uuid = UUID(text: call.part("import_id")) else { throw APIError.missing("import") }
        let bytes = try await call.request.bytes(atMost: Carma.listBytesMax)
        let lines = CarmaTable.lineCount(of: bytes)
        guard lines <= Carma.listLinesMax else {
            throw APIError(.contentTooLarge, "the list has \(lines) lines, the limit is \(Carma.listLinesMax)")
        }
        return try await shares.holding(.batches, for: try await .of(app.applicationKey, in: store)) {
            let list = try await carma.run(uuid, in: app, bytes)
            return Self.reply(.object(["batchId": .integer(list.key.rawValue)]))
        }
    }

    private func showBatch(_ call: Call) async throws -> Response {
        Self.reply(try await carma.batch(call.number("batch_id"), of: call.customerID).json)
    }
}
