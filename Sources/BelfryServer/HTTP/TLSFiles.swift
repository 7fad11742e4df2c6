package import BelfryService
import Crypto
import FoundationEssentials
import Glibc
import KeyFiles
import NIOSSL

/// The files of a listener's certificate, in PEM: the chain, its own first, and the private key.
package struct TLSFiles: Sendable, Hashable {
    package let certificate: String
    package let key: String
    package var versionMax = VersionMax.tls13
    /// Whether clients have to present a certificate; whose it is, the listener finds out itself.
    package var asksForCertificates = false

    /// The highest version of TLS that the listener speaks.
    package enum VersionMax: String, Sendable, Hashable, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }

    /// Identifies the state of the files; it changes whenever they do, but not with their owner or mode.
    struct FileStamps: Sendable, Hashable {
        private let stamps: [[Int]]

        /// Behind links, of which a mounted secret has several, the file itself counts.
        init(_ files: TLSFiles) {
            stamps = [files.certificate, files.key].map { path in
                var found = stat()
                guard stat(path, &found) == 0 else { return [] }
                let time = found.st_mtim
                return [Int(found.st_dev), Int(found.st_ino), Int(found.st_size), time.tv_sec, time.tv_nsec]
            }
        }
    }

    /// Reads the pair. Throws `TLSFault` when it cannot be used.
    func load() throws -> TLSIdentity {
        let chain = try Self.read(certificate) { bytes throws(KeyFileError) in try PEMFile.certificates(in: bytes) }
        guard let leaf = chain.first else { throw TLSFault.unusable(certificate, "it holds no certificate") }
        let privateKey = try Self.read(key) { bytes throws(KeyFileError) in try PEMFile.privateKey(in: bytes) }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = versionMax == .tls12 ? .tlsv12 : .tlsv13
        if asksForCertificates {
            configuration.certificateVerification = .noHostnameVerification
            configuration.applicationProtocols = ["h2"]
        } else {
            configuration.applicationProtocols = ["http/1.1"]
        }
        guard let context = try? NIOSSLContext(configuration: configuration) else { throw TLSFault.mismatch(self) }
        return TLSIdentity(
            context: context, fingerprint: Array(SHA256.hash(data: try leaf.toDERBytes())),
            validFrom: Instant(milliseconds: Int64(leaf.notValidBefore) * 1_000),
            validUntil: Instant(milliseconds: Int64(leaf.notValidAfter) * 1_000))
    }

    /// The fault of the pair; nil when it can be used.
    func fault(at now: Instant) -> TLSFault? {
        do {
            return try load().fault(at: now)
        } catch {
            return error as? TLSFault
        }
    }

    private static func read<Value>(
        _ path: String, _ parse: ([UInt8]) throws(KeyFileError) -> Value
    ) throws(TLSFault) -> Value {
        let data: Data
        do throws(FileFault) { data = try path.contents().inUTF8 } catch { throw TLSFault.unreadable(error) }
        do throws(KeyFileError) {
            return try parse(Array(data))
        } catch {
            throw TLSFault.unusable(path, error.reason)
        }
    }
}

/// A certificate with its key, ready for connections.
struct TLSIdentity: Sendable {
    let context: NIOSSLContext
    let fingerprint: [UInt8]
    let validFrom: Instant
    let validUntil: Instant

    /// nil while the certificate is valid.
    func fault(at now: Instant) -> TLSFault? {
        if validUntil <= now { return .expired(validUntil) }
        return now < validFrom ? .early(validFrom) : nil
    }
}

package enum TLSFault: Error, Sendable, Hashable, CustomStringConvertible {
    case unreadable(FileFault)
    /// The path, and what was found in the file.
    case unusable(String, String)
    case mismatch(TLSFiles)
    case expired(Instant)
    case early(Instant)

    package var description: String {
        switch self {
        case .unreadable(let fault): fault.description
        case .unusable(let path, let found): "\(path) cannot be used: \(found)"
        case .mismatch(let files): "the key \(files.key) does not belong to the certificate \(files.certificate)"
        case .expired(let end): "the certificate expired on \(end.day)"
        case .early(let start): "the certificate is not valid before \(start.day)"
        }
    }
}

extension Instant {
    fileprivate var day: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601.year().month().day())
    }
}
