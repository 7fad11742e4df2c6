// The part of CryptoKit that BelfryKit uses, written from Apple's documentation.
import Foundation
import Security

public protocol HashFunction {}
public struct SHA256: HashFunction {}

public struct SymmetricKey: Sendable, ContiguousBytes {
    public struct Size: Sendable {
        public static let bits128 = Size()
        public static let bits256 = Size()
    }
    public init(size: Size) {}
    public init<D: ContiguousBytes>(data: D) {}
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct SharedSecret: Sendable, ContiguousBytes {
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}

public struct HashedAuthenticationCode<H: HashFunction>: ContiguousBytes, Sequence {
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
}

public enum HMAC<H: HashFunction> {
    public static func authenticationCode<D: DataProtocol>(
        for data: D, using key: SymmetricKey
    ) -> HashedAuthenticationCode<H> { HashedAuthenticationCode() }
}

public enum AES {
    public enum GCM {
        public struct Nonce {
            public init<D: DataProtocol>(data: D) throws {}
        }
        public struct SealedBox {
            public let ciphertext = Data()
            public let tag = Data()
            public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws {}
        }
        public static func seal<Text: DataProtocol>(
            _ message: Text, using key: SymmetricKey, nonce: Nonce? = nil
        ) throws -> SealedBox { try SealedBox(nonce: Nonce(data: Data()), ciphertext: Data(), tag: Data()) }
        public static func open(_ box: SealedBox, using key: SymmetricKey) throws -> Data { Data() }
    }
}

public enum P256 {
    public enum KeyAgreement {
        public struct PublicKey: Sendable {
            init() {}
            public init<D: ContiguousBytes>(x963Representation: D) throws {}
            public var x963Representation: Data { Data() }
        }
        public struct PrivateKey: Sendable {
            public init() {}
            public init<D: ContiguousBytes>(rawRepresentation: D) throws {}
            public var rawRepresentation: Data { Data() }
            public var publicKey: PublicKey { PublicKey() }
            public func sharedSecretFromKeyAgreement(with other: PublicKey) throws -> SharedSecret { SharedSecret() }
        }
    }
}

public enum SecureEnclave {
    public static var isAvailable: Bool { false }
    public enum P256 {
        public enum KeyAgreement {
            public struct PrivateKey: Sendable {
                public init(accessControl: SecAccessControl) throws {}
                public init(dataRepresentation: Data) throws {}
                public var dataRepresentation: Data { Data() }
                public var publicKey: CryptoKit.P256.KeyAgreement.PublicKey { .init() }
                public func sharedSecretFromKeyAgreement(
                    with other: CryptoKit.P256.KeyAgreement.PublicKey
                ) throws -> SharedSecret { SharedSecret() }
            }
        }
    }
}
