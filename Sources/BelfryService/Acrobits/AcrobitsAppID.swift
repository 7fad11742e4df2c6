/// An app id of the softphones. It may belong to two platforms, whose tokens differ: one of Apple's, and one of another provider's.
package struct AcrobitsAppID: Sendable, Hashable {
    package let name: String
    package let applicationKey: Key<Application>
    package let platformKey: Key<Platform>
    /// The payloads by verb, in place of the usual ones.
    package let payload: AcrobitsPayloadTemplate?

    package static let nameBytesMax = 255
    /// The most of one application.
    package static let countMax = 256

    package init(
        name: String, applicationKey: Key<Application>, platformKey: Key<Platform>,
        payload: AcrobitsPayloadTemplate? = nil
    ) {
        self.name = name
        self.applicationKey = applicationKey
        self.platformKey = platformKey
        self.payload = payload
    }

    package static func check(name: String) throws(InvalidInput) {
        guard 1...nameBytesMax ~= name.utf8.count, name.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InvalidInput(field: "app_id", "has to be 1 to \(nameBytesMax) visible ASCII characters")
        }
    }
}
