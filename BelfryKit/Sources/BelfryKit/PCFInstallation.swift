public import Foundation

/// The device that the iOS SDK of PCF Push left in the app's defaults, by which the server knows this phone.
///
/// A phone that was restored from another's backup has the other's defaults, and another token: it becomes a device of its own.
///
/// Source: push-ios, `PCFPushPersistentStorage`, the names of its keys.
public struct PCFInstallation: Sendable, Hashable {
    public let device: String
    /// The token of APNs, in hex digits.
    public let token: String?

    public init(device: String, token: String? = nil) {
        self.device = device
        self.token = token
    }

    /// nil where there is none.
    public init?(in defaults: UserDefaults) {
        guard let device = defaults.string(forKey: "PCF_PUSH_BACK_END_DEVICE_ID"), !device.isEmpty else { return nil }
        self.device = device
        token = defaults.data(forKey: "PCF_PUSH_APNS_DEVICE_TOKEN").map { data in
            data.map { String(format: "%02x", $0) }.joined()
        }
    }
}

/// The identity of a device in a file, for systems without a keychain. A backup that has the file has the identity too.
public struct FileIdentity: DeviceIdentity {
    private let file: URL

    public init(at file: URL) { self.file = file }

    public func identity() throws -> UUID {
        if let text = try? String(contentsOf: file, encoding: .utf8), let known = UUID(uuidString: text) {
            return known
        }
        let made = UUID()
        try Data(made.uuidString.utf8).write(to: file, options: .atomic)
        return made
    }
}
