package import FoundationEssentials

extension Push.Content {
    /// Renders the content once for each kind of platform, so that what a provider would refuse is refused at the door.
    ///
    /// Throws `InvalidInput` with the field that a kind cannot take, or with the size that it makes.
    package func check(for kinds: Set<PlatformKind>, receiptID: UUID) throws(InvalidInput) {
        for kind in PlatformKind.allCases where kinds.contains(kind) {
            switch kind {
            case .ios: _ = try IOSPayload(self, receiptID: receiptID)
            case .android, .androidFCM, .androidBaidu, .huawei, .amazon:
                _ = try AndroidPayload(self, kind: kind, receiptID: receiptID, sentAt: .distantFuture)
            case .windows8: _ = try Windows8Payload(self)
            case .windowsPhone: _ = try WindowsPhonePayload(self)
            case .bb10: _ = try BB10Payload(self)
            case .web: _ = try WebPayload(self, receiptID: receiptID)
            case .webhook: continue
            }
        }
    }

    /// Wakes the app without a word to its user: the app finds the data and nothing is shown.
    ///
    /// On iOS a background update, whose data stand at the root of the payload; on Android the data alone.
    package static func silent(_ data: [String: JSONValue]) -> Push.Content {
        Push.Content(
            body: nil,
            custom: [
                "ios": .object(["content-available": .bool(true), "extra": .object(data)]), "android": .object(data),
            ])
    }
}
