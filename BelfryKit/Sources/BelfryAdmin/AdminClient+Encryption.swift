public import Foundation
public import MessageEncryption

/// A device that messages can be encrypted for.
public struct KeyedDevice: Sendable, Hashable {
    public let id: UUID
    public let keys: DeviceKeys
}

extension AdminClient {
    /// Encrypts a text for each device of a target, and sends it page by page. Returns the pushes, each of 100 devices at most.
    ///
    /// The text is a JSON object with the members of a message, or what is shown as its body. Devices without keys get nothing.
    ///
    /// - Parameter idempotencyKey: a second call with the same key is refused and sends nothing twice: it is encrypted anew, so it is another
    ///   request.
    public func pushEncrypted(
        _ text: String, to target: PushRequest.Target, for app: UUID, idempotencyKey: String = UUID().uuidString
    ) async throws -> [UUID] {
        var pushes: [UUID] = []
        var cursor: String?
        repeat {
            let page = try await devicesWithKeys(of: target, for: app, after: cursor)
            for devices in page.devices.parts(of: Self.devicesMax(of: text)) {
                var messages: [String: String] = [:]
                for device in devices { messages[device.id.uuidString.lowercased()] = try device.keys.seal(text) }
                let request = PushRequest(message: .init(encrypted: messages), target: .devices(messages.keys.sorted()))
                pushes.append(
                    try await push(request, for: app, idempotencyKey: "\(idempotencyKey)-\(pushes.count)"))
            }
            cursor = page.next
        } while cursor != nil
        return pushes
    }

    /// A page of the devices of a target that have keys.
    ///
    /// - Parameter cursor: the last page's `next`.
    public func devicesWithKeys(
        of target: PushRequest.Target, for app: UUID, after cursor: String? = nil
    ) async throws -> (devices: [KeyedDevice], next: String?) {
        let page: KeyedDevices = try await send(
            "POST", "apps/\(app.uuidString.lowercased())/encryption-keys", Question(target: target, cursor: cursor))
        let devices = page.devices.compactMap { device -> KeyedDevice? in
            guard let id = UUID(uuidString: device.device_uuid),
                let keys = try? DeviceKeys(p256dh: device.p256dh, auth: device.auth)
            else { return nil }
            return KeyedDevice(id: id, keys: keys)
        }
        return (devices, page.next_cursor)
    }

    /// As many messages as fit into the 65,536 bytes of a push, with their UUIDs.
    static func devicesMax(of text: String) -> Int {
        let steps = text.utf8.count / DeviceKeys.stepBytes + 1
        return min(100, 64_000 / ((steps * DeviceKeys.stepBytes + 102) * 4 / 3 + 48))
    }

    private struct Question: Encodable {
        let target: PushRequest.Target
        let cursor: String?
    }

    private struct KeyedDevices: Decodable {
        let devices: [Device]
        let next_cursor: String?

        struct Device: Decodable {
            let device_uuid: String
            let p256dh: String
            let auth: String
        }
    }
}

extension [KeyedDevice] {
    fileprivate func parts(of count: Int) -> [ArraySlice<KeyedDevice>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
