package import FoundationEssentials

extension CarmaService {
    /// A back end's request to a trigger.
    package struct MessageRequest: Sendable {
        package var originalID: String?
        package var properties: [String: String] = [:]
        package var deliveryTime: Instant?
        /// Whether the contact keeps the properties.
        package var savesProperties = false

        package init() {}
    }

    /// The trigger of a customer, with its app.
    package func trigger(_ id: Int64, of customerID: Int64) async throws -> (CarmaTrigger, CarmaApp) {
        guard let trigger = try await store.carmaTrigger(Key(id)),
            let app = try await store.carmaApps().first(where: { $0.key == trigger.app && $0.customerID == customerID })
        else { throw StoreError.unknown("such trigger") }
        return (trigger, app)
    }

    /// Sends a trigger's message to a contact, now or at its time.
    ///
    /// - Parameter address: of this server, for the page.
    package func send(
        _ trigger: CarmaTrigger, of app: CarmaApp, _ request: MessageRequest, address: String
    ) async throws -> CarmaMessage {
        let id = try Self.checked(id: request.originalID)
        try PushTimes.check(sendAt: request.deliveryTime, field: "deliveryTime", now: clock.now)
        let user = try await store.user(id, of: app.applicationKey)
        let rows = try await store.carmaDevices(of: id, app.applicationKey)
        guard user != nil || !rows.isEmpty else { throw StoreError.unknown("such contact") }
        if request.savesProperties {
            let saved = request.properties.map { (CarmaAttribute.property + $0, UserAttribute?.some(.text($1))) }
            let change = try Self.profile(Dictionary(saved) { first, _ in first })
            try await store.register([], of: id, change, app.applicationKey)
        }
        let texts = try trigger.template.texts(
            in: user?.profile.language, values: Self.values(id, user, request.properties))
        let dueAt = request.deliveryTime.flatMap { $0 > clock.now ? $0 : nil }
        let page = (0..<2).map { _ in UUID().lowercased.replacing("-", with: "") }.joined()
        let message = try await store.create(
            NewCarmaMessage(
                applicationKey: app.applicationKey, trigger: trigger.key, contact: id, name: trigger.template.name,
                html: texts.html, pageHash: SecretHash.of(page), sentAt: dueAt))
        let content = Self.content(texts, address: address, page: page)
        let sent: (receiptID: UUID?, schedule: Key<Schedule>?)
        do {
            let push = PushRequest(content: content, target: try Target(customUserIDs: [id]))
            if let dueAt {
                sent = (nil, try await pushes.schedule(push, at: dueAt, for: app.applicationKey).key)
            } else {
                sent = (try await pushes.send(push, for: app.applicationKey).receiptID, nil)
            }
        } catch {
            // The history shows nothing that was not sent. Where the database failed, it may have been.
            if (error as? StoreError)?.isPassing != true { try? await store.delete(message.key) }
            throw error
        }
        // The push is on its way: a sender that got an error would send it again.
        try? await store.setPush(sent.receiptID, schedule: sent.schedule, of: message.key)
        return message
    }

    private static func values(_ id: String, _ user: User?, _ properties: [String: String]) -> [String: String] {
        var values = ["originalId": id]
        for (name, value) in user?.profile.attributes ?? [:] {
            values[
                name.hasPrefix(CarmaAttribute.property) ? String(name.dropFirst(CarmaAttribute.property.count)) : name] =
                value.text
        }
        return values.merging(properties) { _, given in given }
    }

    /// The fields that Carma's apps read, on Apple's devices beside `aps`. Source: Carma iOS Integration Guide, "Handling Push
    /// Notifications".
    private static func content(_ texts: CarmaTemplate.Texts, address: String, page: String) -> Push.Content {
        let fields: JSONObject = [
            "alert": .string(texts.alert), "message": .string(texts.message),
            "url": .string("\(address)/carma/content/\(page)"),
            "pushreadurl": .string("\(address)/carma/read/\(page)"), "source": .string("carma"),
        ]
        return Push.Content(
            body: texts.alert,
            custom: [
                "ios": .object(["alert": .string(texts.alert), "sound": .string("default"), "extra": .object(fields)]),
                "android": .object(fields),
            ])
    }

    /// The message whose page has this name. It is marked as read; the first time counts as opened.
    package func read(_ page: String) async throws -> CarmaMessage? {
        guard let message = try await store.carmaMessage(pageHash: SecretHash.of(page)) else { return nil }
        if message.readAt == nil, try await store.markRead(message.key) { try await noteOpened(message) }
        return message
    }

    private func noteOpened(_ message: CarmaMessage) async throws {
        guard let receiptID = try await receiptID(of: message), let push = try await store.receipt(receiptID)?.push
        else { return }
        for row in try await store.carmaDevices(of: message.contact, message.applicationKey) {
            guard let platform = try await store.platform(row.platformKey),
                let device = try await store.device(row.device, on: platform.key),
                try await store.answer(of: device.key, in: push.key) != nil
            else { continue }
            let event = AnalyticsEvent(kind: .opened, time: clock.now, device: device.uuid, receiptID: receiptID)
            _ = try await store.record([event], on: platform, lateMax: .seconds(86_400))
            return
        }
    }

    private func receiptID(of message: CarmaMessage) async throws -> UUID? {
        if let receiptID = message.receiptID { return receiptID }
        guard let schedule = message.schedule,
            case .sent(let receiptID)? = try await store.schedule(schedule, of: message.applicationKey)?.ending?.how
        else { return nil }
        return receiptID
    }

    package func messages(to id: String, of app: CarmaApp) async throws -> [CarmaMessage] {
        try await store.carmaMessages(of: id.asName, app.applicationKey)
    }
}

/// A message that a trigger sent to a contact, and its page.
package struct CarmaMessage: Sendable, Hashable {
    package let key: Key<CarmaMessage>
    package let applicationKey: Key<Application>
    package let trigger: Key<CarmaTrigger>
    package let contact: String
    package let name: String
    package let html: String
    /// The receipt of its push, or the schedule that it waits in.
    package let receiptID: UUID?
    package let schedule: Key<Schedule>?
    package let sentAt: Instant
    package let readAt: Instant?

    /// The most messages that are kept of a contact: the latest.
    package static let perContact = 100
}

package struct NewCarmaMessage: Sendable, Hashable {
    package let applicationKey: Key<Application>
    package let trigger: Key<CarmaTrigger>
    package let contact: String
    package let name: String
    package let html: String
    /// SHA-256 of the last part of the page's address.
    package let pageHash: [UInt8]
    /// When it is due; nil for at once.
    package var sentAt: Instant?
}
