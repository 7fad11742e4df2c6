import Foundation

/// A file system of a few megabytes in memory.
struct SmallDisk: Sendable {
    private let path: String

    static let canBeMounted: Bool = {
        let path = NSTemporaryDirectory() + "/belfry-disk-\(UUID().uuidString)"
        guard (try? mount(at: path, megabytes: 1)) != nil else { return false }
        unmount(path)
        return true
    }()

    static func with(megabytes: Int, _ body: (SmallDisk) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "/belfry-disk-\(UUID().uuidString)"
        try mount(at: path, megabytes: megabytes)
        defer { unmount(path) }
        try await body(SmallDisk(path: path))
    }

    func file(_ name: String) -> String { path + "/" + name }

    /// Writes until nothing more fits.
    func fill() throws {
        try Data().write(to: URL(filePath: file("filler")))
        let filler = open(file("filler"), O_WRONLY | O_APPEND)
        defer { close(filler) }
        for size in [65_536, 4_096, 1] {
            let block = [UInt8](repeating: 0x78, count: size)
            while write(filler, block, size) == size {}
        }
    }

    func free() throws { try FileManager.default.removeItem(atPath: file("filler")) }

    /// As a disk is after an error. No process may have a file of it open for writing.
    func forbidWriting(_ isForbidden: Bool) throws {
        guard Self.run("mount", "-o", isForbidden ? "remount,ro" : "remount,rw", path) else { throw Refused() }
    }

    private struct Refused: Error {}

    private static func mount(at path: String, megabytes: Int) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "none", path) else {
            try? FileManager.default.removeItem(atPath: path)
            throw Refused()
        }
    }

    private static func unmount(_ path: String) {
        _ = run("umount", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func run(_ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
