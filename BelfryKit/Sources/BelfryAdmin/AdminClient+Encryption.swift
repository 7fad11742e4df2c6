public import Foundation
public import MessageEncryption

/// A device that messages can be encrypted for.
public struct KeyedDevice: Sendable, Hashable {
    public let id: UUID
    public let keys: DeviceKeys
}

/// A page of an encrypted push that was not sent, after others that were.
public struct EncryptedPushError: Error {
    /// The pushes that were sent.
    public let sent: [UUID]
    /// Where ``AdminClient/pushEncrypted(_:to:for:after:idempotencyKey:)`` goes on; nil for the beginning.
    public let cursor: String?
    public let reason: AdminError
}

extension AdminClient {
    /// Encrypts a text for each device of a target, and sends it page by page. Returns the pushes, each of 100 devices at most.
    ///
    /// The text is a JSON object with the members of a message, or what is shown as its body. Devices without keys get nothing.
    ///
    /// - Parameters:
    ///   - cursor: that of an ``EncryptedPushError``, to go on with the pages that were not sent.
    ///   - idempotencyKey: a second call with the same key sends no page twice, but is refused at the first that was sent: it is encrypted anew,
    ///     so it is another request.
    /// - Throws: ``EncryptedPushError``, and `MessageEncryptionError` before anything is sent for a text that is too long.
    public func pushEncrypted(
        _ text: String, to target: PushRequest.Target, for app: UUID, after cursor: String? = nil,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> [UUID] {
        let bytes = text.utf8.count
        guard bytes <= DeviceKeys.textBytesMax else {
            throw MessageEncryptionError.textTooLong(bytes: bytes, limit: DeviceKeys.textBytesMax)
        }
        var pushes: [UUID] = []
        var cursor = cursor
        repeat {
            do throws(AdminError) {
                let page = try await devicesWithKeys(
                    of: target, for: app, after: cursor, limit: Self.devicesMax(of: text))
                var messages: [String: String] = [:]
                // Keys of which no message can be made are none.
                for device in page.devices { messages[device.id.uuidString.lowercased()] = try? device.keys.seal(text) }
                if !messages.isEmpty {
                    let request = PushRequest(
                        message: .init(encrypted: messages), target: .devices(messages.keys.sorted()))
                    let key = "\(idempotencyKey)-\(cursor ?? "0")"
                    pushes.append(try await push(request, for: app, idempotencyKey: key))
                }
                cursor = page.next
            } catch {
                throw EncryptedPushError(sent: pushes, cursor: cursor, reason: error)
            }
        } while cursor != nil
        return pushes
    }

    /// A page of the devices of a target that have keys.
    ///
    /// - Parameters:
    ///   - cursor: the last page's `next`.
    ///   - limit: the most devices of the page, up to 100.
    public func devicesWithKeys(
        of target: PushRequest.Target, for app: UUID, after cursor: String? = nil, limit: Int = 100
    ) async throws(AdminError) -> (devices: [KeyedDevice], next: String?) {
        let question = Question(target: target, cursor: cursor, limit: limit)
        let page: KeyedDevices = try await send(
            "POST", "apps/\(app.uuidString.lowercased())/encryption-keys", question)
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
        let limit: Int
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
