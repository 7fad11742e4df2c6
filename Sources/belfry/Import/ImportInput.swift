import ArgumentParser
import Foundation

/// A list of devices as bytes, a piece in memory at a time.
final class ImportInput {
    /// The name for files that are written beside the list.
    let name: String
    private let handle: FileHandle
    private let unpacking: Process?
    private let size: UInt64?
    private var count: UInt64 = 0

    private static let pieceBytes = 1 << 18

    init(_ path: String) throws {
        if path == "-" {
            (name, handle, unpacking, size) = ("import", .standardInput, nil, nil)
            return
        }
        guard FileManager.default.isReadableFile(atPath: path) else {
            throw ValidationError(InputFile.fault(of: path))
        }
        name = path
        guard path.hasSuffix(".gz") else {
            handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            unpacking = nil
            size = try handle.seekToEnd()
            try handle.seek(toOffset: 0)
            return
        }
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/gzip")
        process.arguments = ["-dc", "--", path]
        process.standardOutput = pipe
        try process.run()
        (handle, unpacking, size) = (pipe.fileHandleForReading, process, nil)
    }

    /// How much of it was read, from 0 to 1; nil where its size is not known.
    var share: Double? { size.map { $0 == 0 ? 1 : Double(count) / Double($0) } }

    /// The next piece; nil at the end.
    func next() throws -> Data? {
        guard let piece = try handle.read(upToCount: Self.pieceBytes), !piece.isEmpty else {
            try end()
            return nil
        }
        count += UInt64(piece.count)
        return piece
    }

    private func end() throws {
        guard let unpacking else { return }
        unpacking.waitUntilExit()
        guard unpacking.terminationStatus == 0 else {
            throw ValidationError("\(name) cannot be unpacked: gzip ended with \(unpacking.terminationStatus)")
        }
    }
}
