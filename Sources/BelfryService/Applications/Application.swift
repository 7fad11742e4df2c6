package import FoundationEssentials

/// The owner of platforms and the sender of pushes, under which a team registers its devices.
package struct Application: Sendable, Hashable {
    package let key: Key<Application>
    package let uuid: UUID
    package let name: String
    /// For people; empty when none was given.
    package let description: String
    /// SHA-256 of the API key. The key itself is shown once, when it is made.
    package let apiKeyHash: [UInt8]
    /// SHA-256 of the API keys that bindings of the service broker were given.
    package internal(set) var bindingKeyHashes: [[UInt8]]
    /// The hash of the previous API key, while that is accepted too.
    package let previousAPIKey: PreviousSecret<[UInt8]>?
    /// The secret that signs custom user ids, sealed by the vault.
    package let sharedSecret: Sealed
    /// The previous shared secret, while it is accepted too.
    package let previousSharedSecret: PreviousSecret<Sealed>?
    package let createdAt: Instant
    package let tenantKey: Key<Tenant>
    /// Whether PCF's API ignores unknown fields, as PCF did. Otherwise it refuses a request to send that has one.
    package let ignoresUnknownFields: Bool
    package let deliveryRules: DeliveryRules

    package init(
        key: Key<Application>, uuid: UUID, name: String, apiKeyHash: [UInt8], sharedSecret: Sealed, createdAt: Instant,
        tenantKey: Key<Tenant> = Tenant.first, bindingKeyHashes: [[UInt8]] = [], description: String = "",
        previousAPIKey: PreviousSecret<[UInt8]>? = nil, previousSharedSecret: PreviousSecret<Sealed>? = nil,
        ignoresUnknownFields: Bool = false, deliveryRules: DeliveryRules = DeliveryRules()
    ) {
        self.key = key
        self.uuid = uuid
        self.name = name
        self.apiKeyHash = apiKeyHash
        self.sharedSecret = sharedSecret
        self.createdAt = createdAt
        self.tenantKey = tenantKey
        self.bindingKeyHashes = bindingKeyHashes
        self.description = description
        self.previousAPIKey = previousAPIKey
        self.previousSharedSecret = previousSharedSecret
        self.ignoresUnknownFields = ignoresUnknownFields
        self.deliveryRules = deliveryRules
    }
}

/// A secret that was replaced, and the end of the time in which it is accepted beside the new one.
package struct PreviousSecret<Value: Sendable & Hashable>: Sendable, Hashable {
    package let value: Value
    package let validUntil: Instant

    package init(_ value: Value, validUntil: Instant) {
        self.value = value
        self.validUntil = validUntil
    }

    package func valid(at now: Instant) -> Value? { now < validUntil ? value : nil }
}

/// Changes to an application; nil leaves a field as it is.
package struct ApplicationEdit: Sendable, Hashable {
    package var name: Name?
    package var description: Description?
    package var ignoresUnknownFields: Bool?
    /// `.set(nil)` is `.clear`.
    package var quietHours: Registration.Change<QuietHours> = .keep
    package var caps: [FrequencyCap]?
    /// See `DeliveryRules.approvesCampaigns`.
    package var approvesCampaigns: Bool?
    package var webPush: WebPushAccess?
    /// See `DeliveryRules.takesEncryptedOnly`.
    package var takesEncryptedOnly: Bool?
    /// See `DeliveryRules.encryptedAlert`; empty for the default.
    package var encryptedAlert: String?

    package var isEmpty: Bool {
        name == nil && description == nil && ignoresUnknownFields == nil && !changesRules
    }

    package var changesRules: Bool {
        quietHours != .keep || caps != nil || approvesCampaigns != nil || webPush != nil || takesEncryptedOnly != nil
            || encryptedAlert != nil
    }

    func changed(_ rules: DeliveryRules) -> DeliveryRules {
        var changed = DeliveryRules(quietHours: quietHours.applied(to: rules.quietHours), caps: caps ?? rules.caps)
        changed.approvesCampaigns = approvesCampaigns ?? rules.approvesCampaigns
        changed.webPush = webPush ?? rules.webPush
        changed.takesEncryptedOnly = takesEncryptedOnly ?? rules.takesEncryptedOnly
        changed.encryptedAlert = encryptedAlert.map { $0.isEmpty ? nil : $0 } ?? rules.encryptedAlert
        return changed
    }
}

/// Bytes that only the vault can decrypt.
package struct Sealed: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }
}

extension DeviceStore where Self: ApplicationStore {
    /// A device of an application, on whichever of its platforms it is.
    package func device(
        _ uuid: UUID, of application: Key<Application>
    ) async throws -> (device: Device, platform: Platform)? {
        for platform in try await platforms(of: application) {
            if let device = try await device(uuid, on: platform.key) { return (device, platform) }
        }
        return nil
    }
}
