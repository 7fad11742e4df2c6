#if canImport(Security)
public import Foundation
import Security

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// The identity of a device in its keychain, in an item that no backup carries to another device.
public struct KeychainIdentity: DeviceIdentity {
    private let item: KeychainItem

    /// - Parameters:
    ///   - service: the name of the item.
    ///   - accessGroup: that the app shares with its extensions; nil for the app's own.
    public init(service: String = "belfry", accessGroup: String? = nil) {
        item = KeychainItem(service: service, account: "device", accessGroup: accessGroup)
    }

    public func identity() throws -> UUID {
        let value = try item.value { Data(UUID().uuidString.utf8) }
        guard let identity = UUID(uuidString: String(decoding: value, as: UTF8.self)) else {
            throw BelfryError.storage("keychain: no identity")
        }
        return identity
    }
}

/// An item of the keychain that is made once, and that no backup carries to another device.
///
/// Source: Apple, `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
struct KeychainItem: Sendable {
    let service: String
    let account: String
    let accessGroup: String?

    func value(orMake make: () throws -> Data) throws -> Data {
        if let known = try read() { return known }
        let made = try make()
        var item = query
        item[kSecValueData as String] = made
        item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let status = SecItemAdd(item as CFDictionary, nil)
        // An extension may have been faster.
        if status == errSecDuplicateItem, let known = try read() { return known }
        guard status == errSecSuccess else { throw BelfryError.storage("keychain: \(status)") }
        return made
    }

    private func read() throws -> Data? {
        var item = query
        item[kSecReturnData as String] = true
        var found: CFTypeRef?
        let status = SecItemCopyMatching(item as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let data = found as? Data else {
            throw BelfryError.storage("keychain: \(status)")
        }
        return data
    }

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
            kSecAttrAccount as String: account,
        ]
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        return query
    }
}

/// Trusts one server: by its certificate, or by the authority that signed it. The delegate of a `URLSession`.
public final class ServerTrust: NSObject, URLSessionDelegate {
    private let certificate: Data
    private let isAuthority: Bool

    /// - Parameters:
    ///   - certificate: in DER.
    ///   - isAuthority: whether it is an authority's; otherwise it is the server's own.
    public init(certificate: Data, isAuthority: Bool) {
        self.certificate = certificate
        self.isAuthority = isAuthority
    }

    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard let trust = challenge.protectionSpace.serverTrust else { return (.performDefaultHandling, nil) }
        return accepts(trust) ? (.useCredential, URLCredential(trust: trust)) : (.cancelAuthenticationChallenge, nil)
    }

    private func accepts(_ trust: SecTrust) -> Bool {
        guard let own = SecCertificateCreateWithData(nil, certificate as CFData) else { return false }
        if isAuthority {
            SecTrustSetAnchorCertificates(trust, [own] as CFArray)
            SecTrustSetAnchorCertificatesOnly(trust, true)
            return SecTrustEvaluateWithError(trust, nil)
        }
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        return chain.first.map { SecCertificateCopyData($0) as Data } == certificate
    }
}
#endif
