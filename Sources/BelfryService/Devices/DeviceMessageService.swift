import FoundationEssentials

/// The latest messages of a device, for an app whose push arrived without its payload.
package struct DeviceMessageService: Sendable {
    let store: any Store
    let clock: any WallClock
    let linkKeys: any LinkKeys

    /// A message, with its payload for the device.
    package struct Sent: Sendable {
        package let push: Push
        package let payload: JSONValue
    }

    /// The newest first, without expired messages.
    package func latest(of device: Device, on platform: Platform, limit: Int) async throws -> [Sent] {
        let found = try await store.messages(
            to: device.key, on: platform.key, of: platform.applicationKey, limit: limit)
        var sent: [Sent] = []
        for message in found where message.push.expiresAt.map({ $0 > clock.now }) ?? true {
            sent.append(Sent(push: message.push, payload: try await payload(message, of: device, on: platform)))
        }
        return sent
    }

    /// Renders a message. Placeholders get the device's present values, and the number as it was shown.
    private func payload(
        _ message: DeviceMessage, of device: Device, on platform: Platform
    ) async throws -> JSONValue {
        var content = message.push.content
        if content.isPersonal {
            content = try content.filled(with: try await filling(message, of: device, on: platform))
        }
        return try content.shown(on: platform.kind, receiptID: message.push.receiptID, at: clock.now)
    }

    private func filling(_ message: DeviceMessage, of device: Device, on platform: Platform) async throws
        -> PersonalizedValues
    {
        let needs = PersonalizationNeeds(try message.push.content.placeholders())
        var values = try await store.values(of: device.key, on: platform, needs)
        if let badge = message.badge { values.badge = badge }
        guard needs.links else { return PersonalizedValues(values) }
        let signing = try await linkKeys.signing(for: platform.applicationKey)
        return PersonalizedValues(values, links: LinkSigner(push: message.push.head, sign: signing))
    }
}

extension Push.Content {
    /// The content that the app of a device gets, as it is rendered for the type; where a provider has a form of its own, text and parts.
    func shown(on kind: PlatformKind, receiptID: UUID, at now: Instant) throws(InvalidInput) -> JSONValue {
        switch kind.traits.payload {
        case .apple(let use):
            return try JSONValue(json: try IOSPayload(self, for: use, receiptID: receiptID, sentAt: now).bytes)
        case .android:
            return .object(try AndroidPayload(self, kind: kind, receiptID: receiptID, sentAt: now).data)
        case .web: return try JSONValue(json: try WebPayload(self, receiptID: receiptID).bytes)
        case .windows8, .windowsPhone, .bb10, .webhook:
            var members: JSONObject = ["receiptId": .string(receiptID.lowercased)]
            members["body"] = body.map(JSONValue.string)
            members = members.merging(shared.json) { own, _ in own }
            members["custom"] = custom[kind.rawValue]
            return .object(members)
        }
    }
}
