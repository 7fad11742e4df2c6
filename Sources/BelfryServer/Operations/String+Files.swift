// The C library's `stat` counts as a part of it where GRDB is loaded first.
import CDispatch
package import Foundation
import SystemPackage

/// Files by their paths.
extension String {
    /// The path from the root, so that a message names one file wherever it is read.
    var absolutePath: String { URL(fileURLWithPath: self).standardizedFileURL.path }

    /// Whether there is something at this path. Throws where that cannot be seen, as in a folder that another user keeps shut: a file
    /// taken for missing would be made again elsewhere, or reported as lost.
    func isThere() throws(FileFault) -> Bool {
        var status = stat()
        if stat(self, &status) == 0 { return true }
        let code = Errno(rawValue: errno)
        guard code == .noSuchFileOrDirectory || code == .notDirectory else {
            throw FileFault(self, code, "cannot be looked at by \(SystemAccount.current): \(code.words)")
        }
        return false
    }

    /// Throws `FileFault` with why it cannot be read.
    package func contents() throws(FileFault) -> Data {
        do {
            let file = try FileDescriptor.open(FilePath(self), .readOnly, options: .closeOnExec)
            return try file.closeAfter { try file.contents() }
        } catch {
            throw FileFault(reading: self, error as? Errno ?? .ioError)
        }
    }

    /// Writes a new file that only its owner can read, and flushes it to the disk. Throws the system's error, where it is there already too.
    func writePrivately(_ data: Data) throws {
        let file = try FileDescriptor.open(
            FilePath(self), .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite
        )
        try file.closeAfter {
            if let owner = FileOwner.ofNewFile(at: self), !owner.isOwn,
                fchown(file.rawValue, owner.user, owner.group) != 0
            {
                throw Errno(rawValue: errno)
            }
            try file.writeAll(data)
            guard fsync(file.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }

    /// Makes a directory that only its owner can open.
    func makeDirectory() throws(FileFault) {
        guard mkdir(self, 0o700) != 0 else { return }
        let code = Errno(rawValue: errno)
        throw FileFault(self, code, "cannot be made: \(code.words)")
    }

    /// Makes a directory that only its owner can open, with the owner of the directory that it is in.
    func makePrivateDirectory() throws {
        try makeDirectory()
        guard let owner = FileOwner.ofNewFile(at: self), !owner.isOwn else { return }
        // By its descriptor: the owner of the directory around it could have put a link in its place.
        let made = try FileDescriptor.open(FilePath(self), .readOnly, options: [.directory, .noFollow, .closeOnExec])
        try made.closeAfter {
            guard fchown(made.rawValue, owner.user, owner.group) == 0 else { throw Errno(rawValue: errno) }
        }
    }

    /// The file that a path leads to over all symbolic links; the path itself where there is none.
    package var resolvingLinks: String {
        realpath(self, nil).map { resolved in
            defer { free(resolved) }
            return String(cString: resolved)
        } ?? self
    }

    /// Removes the access of others to a file, if it exists; false when that fails, and more than the group of this process have access.
    package func makePrivate() -> Bool {
        if chmod(self, 0o600) == 0 || errno == ENOENT { return true }
        var status = stat()
        return stat(self, &status) == 0 && status.st_mode & 0o007 == 0
            && (status.st_mode & 0o070 == 0 || status.st_gid == getegid())
    }

    /// Renames a file, and flushes the new name to the disk.
    func move(to target: String) throws {
        guard rename(self, target) == 0 else { throw Errno(rawValue: errno) }
        let folder = try FileDescriptor.open(FilePath(target.parentDirectory), .readOnly)
        try folder.closeAfter {
            guard fsync(folder.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}

extension Data {
    /// A text in UTF-8, without the byte order mark that programs of Windows begin one with; PowerShell writes UTF-16. Anything else as
    /// it is.
    package var inUTF8: Data {
        if starts(with: [0xEF, 0xBB, 0xBF]) { return Data(dropFirst(3)) }
        let isWide = starts(with: [0xFF, 0xFE]) || starts(with: [0xFE, 0xFF])
        guard isWide, let text = String(data: self, encoding: .utf16) else { return self }
        return Data(text.utf8)
    }
}

extension FileHandle {
    /// Writes where the file was written last.
    ///
    /// - Parameter path: the file as a fault names it.
    package func append(_ data: Data, to path: String) throws(FileFault) {
        do { try FileDescriptor(rawValue: fileDescriptor).writeAll(data) } catch {
            let code = error as? Errno ?? .ioError
            throw FileFault(path, code, "cannot be written: \(code.words)")
        }
    }
}

extension FileDescriptor {
    /// More than any file has that is read whole. A device such as `/dev/zero` has no end.
    private static let bytesMax = 64 << 20

    /// All that can be read. Throws the error of the system, and one of its kind beyond 64 MiB.
    func contents() throws -> Data {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = try buffer.withUnsafeMutableBytes({ try read(into: $0) }), count > 0 {
            guard data.count + count <= Self.bytesMax else { throw Errno.fileTooLarge }
            data.append(contentsOf: buffer[..<count])
        }
        return data
    }
}

/// The standard input of a command.
package enum StandardInput {
    package static func contents() throws(FileFault) -> Data {
        do { return try FileDescriptor.standardInput.contents() } catch {
            throw FileFault(reading: "standard input", error as? Errno ?? .ioError)
        }
    }
}
