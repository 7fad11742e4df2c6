#if canImport(Security) && canImport(CryptoKit)
import CryptoKit
import Foundation
public import MessageEncryption
import Security

/// Keys whose private half the Secure Enclave made and never gives away; where there is none, as in the simulator, it is in the keychain.
///
/// An extension finds the keys of its app by the same access group.
public struct SecureEnclaveKeys: MessageKeys {
    private let item: KeychainItem

    /// - Parameters:
    ///   - service: the name of the item.
    ///   - accessGroup: that the app shares with its extensions.
    public init(service: String = "belfry", accessGroup: String? = nil) {
        item = KeychainItem(service: service, account: "encryption", accessGroup: accessGroup)
    }

    private static let secretBytes = 16

    public func deviceKeys() throws -> DeviceKeys {
        let (key, secret) = try keys()
        return try DeviceKeys(publicKey: Array(key.publicKey.x963Representation), secret: secret)
    }

    public func open(_ message: String) throws -> [UInt8] {
        let (key, secret) = try keys()
        return try key.open(message, secret: secret)
    }

    /// The item has the auth secret, and the private key in the form that only this device's Enclave can use.
    private func keys() throws -> (any AgreementKey, secret: [UInt8]) {
        let isInEnclave = SecureEnclave.isAvailable
        let value = try item.value {
            let secret = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
            let key =
                isInEnclave ? try Self.made().dataRepresentation : P256.KeyAgreement.PrivateKey().rawRepresentation
            return secret + key
        }
        let (secret, key) = (value.prefix(Self.secretBytes), Data(value.dropFirst(Self.secretBytes)))
        guard isInEnclave else { return (try P256.KeyAgreement.PrivateKey(rawRepresentation: key), Array(secret)) }
        return (try SecureEnclave.P256.KeyAgreement.PrivateKey(dataRepresentation: key), Array(secret))
    }

    /// Usable while the device is locked, as extensions need it.
    private static func made() throws -> SecureEnclave.P256.KeyAgreement.PrivateKey {
        let access = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, nil)
        guard let access else { throw BelfryError.storage("keychain: no access control") }
        return try SecureEnclave.P256.KeyAgreement.PrivateKey(accessControl: access)
    }
}
#endif
