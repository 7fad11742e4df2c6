import Foundation
import SystemPackage

/// Files that hold secrets, by their paths.
extension String {
    func contents() throws -> Data {
        guard let data = FileManager.default.contents(atPath: self) else {
            throw BackupFault("\(self) is missing or cannot be read")
        }
        return data
    }

    /// Into a new file that its owner alone can read, and to the disk.
    func writePrivately(_ data: Data) throws {
        let file = try FileDescriptor.open(
            FilePath(self), .writeOnly, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite)
        try file.closeAfter {
            try file.writeAll(data)
            guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }

    /// Beside the target first, so that the target is there when all of it is.
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

    /// Takes what others may do with a file away, if it is there; false when that cannot be done.
    func makePrivate() -> Bool { chmod(self, 0o600) == 0 || errno == ENOENT }

    /// Renames, and brings the new name to the disk.
    func move(to target: String) throws {
        guard rename(self, target) == 0 else { throw Errno(rawValue: errno) }
        let folder = try FileDescriptor.open(FilePath(target).removingLastComponent().orHere, .readOnly)
        try folder.closeAfter {
            guard fsync(folder.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}

extension Data {
    /// Puts the bytes into a file that only its owner can read, in place of what is there. At no time has it another mode.
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
