import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import Testing

@Suite struct KeyRingTests {
    private static let key = String(repeating: "ab", count: 32)

    @Test func `a seal opens only for its purpose with its key`() throws {
        let ring = KeyRing()
        let seal = try ring.seal([1, 2, 3], for: "this")
        #expect(try ring.open(seal, for: "this") == [1, 2, 3])
        #expect(throws: VaultError.broken) { try ring.open(seal, for: "that") }
        #expect(throws: VaultError.broken) { try KeyRing().open(seal, for: "this") }
        #expect(throws: VaultError.broken) { try ring.open(Sealed(bytes: Array(seal.bytes.dropLast())), for: "this") }
        var flipped = seal.bytes
        flipped[20] ^= 1
        #expect(throws: VaultError.broken) { try ring.open(Sealed(bytes: flipped), for: "this") }
        #expect(throws: VaultError.unknownKey(id: 1)) { try KeyRing(text: "2:\(Self.key)").open(seal, for: "this") }
    }

    @Test(arguments: [
        ("", KeyRingError.empty), ("1:abc", .badLine(1)), ("1:\(key)\nx:\(key)", .badLine(2)),
        ("1:\(key)\n1:\(key)", .repeatedID(1)), ("-1:\(key)", .badLine(1)), ("\(key)", .badLine(1)),
    ])
    func `a malformed ring names its line`(text: String, error: KeyRingError) {
        #expect(throws: error) { try KeyRing(text: text) }
    }

    @Test func `the newest key seals, older ones open, dropped ones cannot`() throws {
        var ring = KeyRing()
        let old = try ring.seal([1], for: "it")
        #expect(ring.addKey() == 2)
        let new = try ring.seal([1], for: "it")
        #expect(KeyRing.keyID(of: old) == 1 && KeyRing.keyID(of: new) == 2)
        #expect(try ring.open(old, for: "it") == [1] && ring.open(new, for: "it") == [1])
        #expect(throws: KeyRingError.newest(2)) { try ring.drop(2) }
        #expect(throws: KeyRingError.unknown(7)) { try ring.drop(7) }
        try ring.drop(1)
        #expect(throws: VaultError.unknownKey(id: 1)) { try ring.open(old, for: "it") }
    }

    @Test func `an open ring adopts another process's new key`() async throws {
        try await Scratch.with { scratch in
            let path = scratch.file("ring")
            let server = try KeyRingFile.open(at: path, createIfMissing: true)
            let command = try KeyRingFile.open(at: path, createIfMissing: false)
            let before = try server.seal([1], for: "it")
            try command.change { ring in _ = ring.addKey() }
            let after = try server.seal([1], for: "it")
            #expect(KeyRing.keyID(of: before) == 1 && KeyRing.keyID(of: after) == 2)
            try command.change { ring in _ = ring.addKey() }
            #expect(try server.open(try command.seal([3], for: "it"), for: "it") == [3])
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
            let missing = #expect(throws: KeyRingError.self) {
                try KeyRingFile.open(at: path + "x", createIfMissing: false)
            }
            #expect(missing?.description.contains("the key ring \(path)x is missing") == true)
        }
    }

    @Test func `two changes of a ring do not meet`() async throws {
        try await Scratch.with { scratch in
            let path = scratch.file("ring")
            let file = try KeyRingFile.open(at: path, createIfMissing: true)
            #expect(FileManager.default.createFile(atPath: path + ".new", contents: nil))
            #expect(throws: KeyRingError.beingChanged(path)) { try file.change { ring in _ = ring.addKey() } }
            #expect(try file.ring.ids == [1])
        }
    }

    @Test func `resealing keeps unopenable secrets and drops freed keys`()
        async throws
    {
        try await Scratch.with { scratch in
            let keys = try KeyRingFile.open(at: scratch.file("ring"), createIfMissing: true)
            let store = try SQLiteStore.temporary(clock: ManualClock())
            let application = try await store.create(.numbered(1))
            let platform = try await store.create(.numbered(1, of: application.key))
            let purpose = VaultPurpose.credentials(of: platform.uuid)
            try await store.replaceCredentials(of: platform.key, with: try keys.seal([7], for: purpose))
            let resealing = Resealing(store: store, keys: keys)
            // The application's shared secret is none that this ring has sealed.
            #expect(try await resealing.sealCounts() == [1: 1, nil: 1])
            try keys.change { ring in _ = ring.addKey() }
            await #expect(throws: KeyRingError.inUse(1, secrets: 1)) { try await resealing.drop(1) }
            let done = try await resealing.run()
            #expect(done.resealed == 1)
            #expect(done.lost.map(\.kind) == [.sharedSecret])
            #expect(try await resealing.sealCounts() == [2: 1, nil: 1])
            let sealed = try #require(try await store.platform(platform.uuid)?.credentials)
            #expect(try keys.open(sealed, for: purpose) == [7])
            #expect(try await resealing.run().resealed == 0)
            try await resealing.drop(1)
            #expect(try keys.ring.ids == [2])
        }
    }
}
