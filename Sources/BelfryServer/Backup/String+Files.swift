import Foundation
import SystemPackage

/// Files that hold secrets, by their paths.
extension String {
    /// From the root, so that a message names one file wherever it is read.
    var absolutePath: String { URL(fileURLWithPath: self).standardizedFileURL.path }

    func contents() throws -> Data {
        guard let data = FileManager.default.contents(atPath: self) else {
            throw BackupFault("\(self) is missing or cannot be read")
        }
        return data
    }

    /// Writes a new file that only its owner can read, and flushes it to the disk.
    func writePrivately(_ data: Data) throws {
        let file = try FileDescriptor.open(
            FilePath(self), .writeOnly, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
        try file.closeAfter {
            try file.writeAll(data)
            guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }

    /// Copies to a file beside the target first, so that the target appears only when it is complete.
    func copyPrivately(to target: String) throws {
        let draft = target + ".part"
        try? FileManager.default.removeItem(atPath: draft)
        try draft.writePrivately(Data())
        let (source, copy) = (
            try FileDescriptor.open(FilePath(self), .readOnly), try FileDescriptor.open(FilePath(draft), .writeOnly)
        )
        try source.closeAfter {
            try copy.closeAfter {
                var buffer = [UInt8](repeating: 0, count: 1 << 20)
                while case let count = try buffer.withUnsafeMutableBytes({ try source.read(into: $0) }), count > 0 {
                    try copy.writeAll(buffer[..<count])
                }
                guard fsync(copy.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
        }
        try draft.move(to: target)
    }

    /// Removes the access of others to a file, if it exists; false when that fails.
    func makePrivate() -> Bool { chmod(self, 0o600) == 0 || errno == ENOENT }

    /// Renames a file, and flushes the new name to the disk.
    func move(to target: String) throws {
        guard rename(self, target) == 0 else { throw Errno(rawValue: errno) }
        let folder = try FileDescriptor.open(FilePath(target).removingLastComponent().orHere, .readOnly)
        try folder.closeAfter {
            guard fsync(folder.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}

extension Data {
    /// Writes the bytes to a file that only its owner can read, in place of the previous one. It never has another
    /// mode.
    func replacePrivately(_ path: String) throws {
        let draft = path + ".new"
        try? FileManager.default.removeItem(atPath: draft)
        try draft.writePrivately(self)
        try draft.move(to: path)
    }
}

extension FilePath {
    fileprivate var orHere: FilePath { isEmpty ? "." : self }
}
