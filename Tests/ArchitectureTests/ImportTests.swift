import Foundation
import Testing

/// The dependencies of each target in Package.swift, held against what its files import.
@Suite struct ImportTests {
    /// Modules that come with the compiler.
    private static let standard: Set = [
        "CDispatch", "CryptoKit", "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization",
        "Testing",
    ]
    /// A module that is no product of its package, which is declared by another; see
    /// docs/decisions/0025-p12-files-have-a-reader-of-our-own.md.
    private static let undeclarable = (module: "CNIOBoringSSL", by: "NIOSSL", in: ["KeyFiles", "MessageEncryption"])

    @Test func `a target imports exactly the dependencies of its manifest`() throws {
        let targets = try Manifest.targets().filter { $0.type != "system" && !$0.files.isEmpty }
        #expect(targets.contains { $0.name == "BelfryService" } && targets.contains { $0.name == "HostileTests" })
        for target in targets {
            let imports = try target.files.reduce(into: Set<String>()) { $0.formUnion(try Self.imports(of: $1)) }
            var foreign = imports.subtracting(Self.standard)
            if Self.undeclarable.in.contains(target.name), foreign.remove(Self.undeclarable.module) != nil {
                foreign.insert(Self.undeclarable.by)
            }
            let undeclared = foreign.subtracting(target.dependencies).sorted()
            #expect(undeclared.isEmpty, "\(target.name) imports \(undeclared), which Package.swift does not declare")
            let unused = target.dependencies.subtracting(foreign).sorted()
            #expect(unused.isEmpty, "Package.swift has \(target.name) depend on \(unused), which no file imports")
        }
    }

    @Test func `every file has one target; simulators and clients share none`() throws {
        let targets = try Manifest.targets()
        // A library of BelfryKit is a target here as well.
        let files = targets.filter { $0.type != "test" }.flatMap(\.files).map(\.path).filter {
            $0.contains("/Sources/") && !$0.contains("/BelfryKit/")
        }
        #expect(files.sorted() == Manifest.swiftFiles(beneath: "Sources").map(\.path).sorted())
        let simulators = try #require(targets.first { $0.name == "BelfrySimulators" })
        let ours = targets.filter { $0.type != "system" }.map(\.name)
        #expect(simulators.dependencies.isDisjoint(with: ours))
    }

    /// See docs/decisions/0036-one-target-for-the-service.md.
    @Test func `routes, pages and other targets speak no SQL`() throws {
        let statements = #/"""\s*(SELECT|INSERT|UPDATE|DELETE|CREATE)\b/#
        for target in try Manifest.targets() where target.type == "regular" {
            for file in target.files {
                let imports = try Self.imports(of: file)
                if target.name == "BelfryService" && imports.isDisjoint(with: ["Hummingbird", "HTTPTypes"]) {
                    continue
                }
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(text.firstMatch(of: statements) == nil, "\(file.lastPathComponent)")
                #expect(imports.isDisjoint(with: ["GRDB", "GRDBSQLite"]), "\(file.lastPathComponent)")
            }
        }
    }

    /// See docs/decisions/0033-providers-describe-themselves.md.
    @Test func `only the list of platform types distinguishes all of them`() throws {
        let cases = #/\bcase\b.*\.(androidBaidu|huawei|amazon)\b/#
        for file in Manifest.swiftFiles(beneath: "Sources") where !file.path.contains("/Sources/Providers/") {
            let text = try String(contentsOf: file, encoding: .utf8)
            let isList = file.lastPathComponent == "PlatformKind.swift"
            #expect((text.firstMatch(of: cases) != nil) == isList, "\(file.lastPathComponent)")
            // Airship has these words too.
            let isForeign = file.lastPathComponent == "AirshipImport.swift"
            #expect(isForeign || text.firstMatch(of: #/"(huawei|amazon)"/#) == nil, "\(file.lastPathComponent)")
        }
    }

    @Test func `the command line prints at one place`() throws {
        let doors = #/Swift\.print|FileHandle\.standard(Output|Error)|fputs|debugPrint|FileDescriptor\.standard/#
        let command = try Manifest.targets().first { $0.name == "belfry" }
        for file in try #require(command).files where file.lastPathComponent != "Output.swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.firstMatch(of: doors) == nil, "\(file.lastPathComponent)")
        }
    }

    @Test(arguments: ["Architecture", "Testing", "ThreatModel", "AddingAProvider", "Providers", "Simulators"])
    func `files and folders that a page names exist`(page: String) throws {
        let name = #/`((?:[A-Z]\w+/)+[A-Z][\w+]*)(?:\.swift)?`/#
        let known = Set(
            ["Sources", "Tests", "Fuzzers"].flatMap(Manifest.swiftFiles(beneath:)).flatMap { file in
                [file.deletingPathExtension().path, file.deletingLastPathComponent().path]
            })
        let text = try String(contentsOf: Manifest.root.appending(path: "docs/\(page).md"), encoding: .utf8)
        for path in text.matches(of: name).map({ String($0.1) }) {
            let exists =
                known.contains { $0.hasSuffix("/\(path)") }
                || FileManager.default.fileExists(atPath: Manifest.root.appending(path: path).path)
            #expect(exists || path.hasSuffix("/VERSION"), "\(path)")
        }
    }

    private static func imports(of file: URL) throws -> Set<String> {
        let line = #/^(?:@testable |@preconcurrency )*(?:(?:public|package|internal|private) )?import (?:\w+ )?(\w+)/#
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.split(separator: "\n").compactMap { $0.firstMatch(of: line).map { String($0.1) } })
    }
}

/// Package.swift, as SwiftPM reads it.
private enum Manifest {
    struct Target: Decodable {
        let name: String
        /// `regular`, `executable`, `test` or `system`.
        let type: String
        let path: String?
        private let sources: [String]?
        private let exclude: [String]
        private let declared: [[String: [Word?]]]

        private enum CodingKeys: String, CodingKey {
            case name, type, path, sources, exclude
            case declared = "dependencies"
        }

        /// A dependency is its name and what else there is to say of it.
        private struct Word: Decodable {
            let text: String?

            init(from decoder: any Decoder) throws {
                text = try? decoder.singleValueContainer().decode(String.self)
            }
        }

        var dependencies: Set<String> { Set(declared.flatMap(\.values).compactMap { $0.first??.text }) }

        var files: [URL] {
            let folder = path ?? "\(type == "test" ? "Tests" : "Sources")/\(name)"
            let left = exclude.map { Manifest.root.appending(path: "\(folder)/\($0)") }
            return (sources ?? [""]).flatMap { Manifest.swiftFiles(beneath: "\(folder)/\($0)") }.filter { file in
                !left.contains { file.path == $0.path || file.path.hasPrefix("\($0.path)/") }
            }
        }
    }

    /// A path may name one file.
    static func swiftFiles(beneath path: String) -> [URL] {
        let start = root.appending(path: path).standardized
        guard start.pathExtension != "swift" else { return [start] }
        let files = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
    }

    private struct Package: Decodable {
        let targets: [Target]
    }

    static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// SwiftPM is given a folder of its own: that of the running tests is locked.
    static func targets() throws -> [Target] {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "belfry-manifest-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: scratch) }
        let (swift, output) = (Process(), Pipe())
        swift.executableURL = URL(filePath: "/usr/bin/env")
        swift.arguments = [
            "swift", "package", "--package-path", root.path, "--scratch-path", scratch.path, "dump-package",
        ]
        swift.standardOutput = output
        try swift.run()
        let json = try output.fileHandleForReading.readToEnd() ?? Data()
        swift.waitUntilExit()
        return try JSONDecoder().decode(Package.self, from: json).targets
    }
}
