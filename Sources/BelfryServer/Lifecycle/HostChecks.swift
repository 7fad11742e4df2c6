import BelfryAPI
import Foundation
import SystemPackage

/// Checks the key ring and the disk.
struct HostChecks: Sendable {
    let keyRing: KeyRingFile
    let directory: String
    /// The least free space on the disk, in MiB.
    let diskFreeMin: Int

    func keyRingFault() -> HealthFault? {
        do {
            _ = try keyRing.ring
            return nil
        } catch {
            return HealthFault(.keyRing, "\(error)")
        }
    }

    /// Whether files can be written to the data directory, with enough free space.
    func diskFault() -> HealthFault? {
        let probe = directory + "/.probe"
        do {
            let file = try FileDescriptor.open(
                FilePath(probe), .writeOnly, options: [.create, .truncate, .closeOnExec], permissions: .ownerReadWrite)
            try file.closeAfter { _ = try file.writeAll([0x2E]) }
        } catch {
            let words = (error as? Errno)?.words ?? "\(error)"
            return HealthFault(.disk, "no file can be written in \(directory): \(words)")
        }
        try? FileManager.default.removeItem(atPath: probe)
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: directory)
        guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value else { return nil }
        let mebibytes = Int(free >> 20)
        guard mebibytes < diskFreeMin else { return nil }
        return HealthFault(.disk, "\(mebibytes) MiB are free at \(directory), health.disk.free.mib is \(diskFreeMin)")
    }
}
