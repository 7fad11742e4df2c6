public import Foundation
public import MessageEncryption

/// The keys of this device for messages that only it can read. They are made once; the private one never leaves the device.
public protocol MessageKeys: Sendable {
    /// The keys that senders encrypt with: the app registers them, see ``Registration/encryptionKeys``.
    func deviceKeys() throws -> DeviceKeys
    /// The text of a message, from the member `encrypted` of a push.
    func open(_ message: String) throws -> [UInt8]
}

/// The text of an encrypted push: members with the names that senders know from other pushes.
public struct DecryptedMessage: Sendable, Hashable {
    public let title: String?
    public let body: String?
    /// An https URL of a picture.
    public let image: String?
    public let link: String?
    public let sound: String?
    public let category: String?
    public let thread: String?
    /// The app's own members, as a JSON object.
    public let data: Data?

    /// A text that is no JSON object is the body.
    public init(_ text: [UInt8]) {
        let json = (try? JSONDecoder().decode(JSON.self, from: Data(text))) ?? .null
        guard case .object = json else {
            (title, image, link, sound, category, thread, data) = (nil, nil, nil, nil, nil, nil, nil)
            body = String(decoding: text, as: UTF8.self)
            return
        }
        func member(_ name: String) -> String? { json[name]?.text }
        (title, body, image, link) = (member("title"), member("body"), member("image"), member("link"))
        (sound, category, thread) = (member("sound"), member("category"), member("thread"))
        data = json["data"].flatMap { try? JSONEncoder().encode($0) }
    }

    /// The message of a push; nil where it has none, or one that these keys do not open: then the system shows what the push says.
    public init?(in userInfo: [AnyHashable: Any], by keys: any MessageKeys) {
        guard let message = userInfo["encrypted"] as? String, let text = try? keys.open(message) else { return nil }
        self.init(text)
    }

    /// The members of a push as they are with the message: what the sender of a plain one puts there.
    public func merged(into userInfo: [AnyHashable: Any]) -> [AnyHashable: Any] {
        var merged = userInfo
        let own = data.flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any] ?? [:]
        // What the server and the system wrote stays.
        for (name, value) in own where merged[name] == nil { merged[name] = value }
        if let link { merged["link"] = link }
        if let image { merged["attachment_url"] = image }
        return merged
    }
}
