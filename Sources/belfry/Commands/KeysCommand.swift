import ArgumentParser
import BelfryServer
import BelfryService

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List and replace the keys that seal secrets, on this machine.",
        discussion: """
            A running server takes up a new key by itself. An old key stays in the ring, for backups, until it is dropped.
            """,
        subcommands: [List.self, Add.self, Rotate.self, Drop.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the keys of the ring, oldest first.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await common.withResources { resources in
                let sealCounts = try await Resealing(store: resources.store, keys: resources.keyRing).sealCounts()
                let ids = try resources.keyRing.ring.ids
                return ids.map { SealingKeyRow(id: $0, secrets: sealCounts[$0] ?? 0, seals: $0 == ids.last) }
            }
            try output.show(rows, ["key", "secrets", "seals"]) {
                [String($0.id), String($0.secrets), $0.seals ? "yes" : "no"]
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a key to the ring of this machine, to be brought to every other node.",
            discussion: """
                A server with this ring seals new secrets with the new key from now on: copy the ring to the other nodes at once. Then \
                `belfry keys rotate --no-new-key` on one of them seals every secret again.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (key, path) = try await common.withResources { resources in
                let keys = resources.keyRing
                try keys.change { ring in _ = ring.addKey() }
                let key = try keys.ring.ids.last ?? 0
                try await resources.operatorService.audited("sealing_key.add", String(key)) {}
                return (key, keys.path)
            }
            if output.json {
                return try Output.json(JSONValue.object(["key": .integer(Int64(key)), "ring": .string(path)]))
            }
            Output.fields([("key", String(key)), ("ring", path)])
            print(
                "\nNext: copy the ring to every other node, now; then `belfry keys rotate --no-new-key` on one of them."
            )
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a key to the ring and seal every secret again with it.",
            discussion: """
                With several nodes the new key has to be in the ring of each before: `belfry keys add`, copy the ring to every node, \
                `belfry keys rotate --no-new-key`.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Flag(help: "Seal with the newest key there is, such as one that was first brought to every node's ring.")
        var noNewKey = false
        @Flag(help: "Add a key although several nodes are up, as where they share one ring.") var force = false

        func run() async throws {
            let (key, resealed, lost) = try await common.withResources { resources in
                if !noNewKey, !force { try RotationBesideNodes.demandOne(try await resources.store.nodes()) }
                let keys = resources.keyRing
                if !noNewKey { try keys.change { ring in _ = ring.addKey() } }
                let key = try keys.ring.ids.last ?? 0
                let done = try await resources.operatorService.audited("sealing_key.rotate", String(key)) {
                    try await Resealing(store: resources.store, keys: keys).run()
                }
                return (key, done.resealed, done.lost)
            }
            try output.show(
                ["key": Int(key), "resealed": resealed], [("key", String(key)), ("resealed", String(resealed))])
            guard lost.isEmpty else { throw SecretsLost(lost: lost) }
        }
    }

    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove an old key from the ring. Refused while a secret is sealed with it.",
            discussion: "Backups whose secrets were sealed with it can then be read with a copy of the old ring only.")

        @OptionGroup var common: CommonOptions
        @Argument(help: "The number of the key, as `belfry keys list` shows it.") var key: UInt32

        func run() async throws {
            try await common.withResources { resources in
                try await resources.operatorService.audited("sealing_key.drop", String(key)) {
                    try await Resealing(store: resources.store, keys: resources.keyRing).drop(key)
                }
            }
            print("dropped key \(key)")
        }
    }
}

private struct SecretsLost: Error, CustomStringConvertible {
    let lost: [Resealing.Failure]

    var description: String {
        (["not sealed again, and left as they are:"] + lost.map { "\($0.kind.rawValue): \($0.reason)" })
            .joined(separator: "\n")
    }
}

/// A node whose ring lacks a key parks each platform whose credentials are sealed with it.
private struct RotationBesideNodes: Error, CustomStringConvertible {
    let description: String

    static func demandOne(_ nodes: [Node]) throws {
        let up = nodes.filter { $0.state != .gone }
        guard up.count > 1 else { return }
        let names = up.map { $0.address.isEmpty ? $0.host : $0.address }.joined(separator: ", ")
        throw Self(
            description:
                "\(up.count) nodes are up (\(names)), and a node whose ring lacks the new key can use nothing that is sealed with it: "
                + "run `belfry keys add`, copy the ring to every node, then `belfry keys rotate --no-new-key`; --force where they "
                + "share one ring")
    }
}

/// A key as scripts see it.
private struct SealingKeyRow: Encodable {
    let id: UInt32
    let secrets: Int
    let seals: Bool
}
