import SwiftASN1
import X509

/// The facts that a client certificate states about itself. They tell an operator what it is for.
public struct APNsCertificateFacts: Sendable, Hashable {
    /// Its distinguished name, as in RFC 4514.
    public let subject: String
    /// The UID of the subject, which is the bundle id, or the topic of an MDM certificate.
    public let topic: String?
    /// `development`, `production`, both, or none where it does not say.
    public let environments: [String]

    /// - Parameter der: the certificate. nil where it cannot be read.
    public init?(der: [UInt8]) {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        // The library knows no short name for it.
        subject = String(describing: certificate.subject).replacing("\(Self.uid)=", with: "UID=")
        topic = certificate.subject.lazy.flatMap { $0 }.first { $0.type == Self.uid }.flatMap { String($0.value) }
        environments = Self.marks.filter { certificate.extensions[oid: $0.oid] != nil }.map(\.name)
    }

    /// Source: RFC 4519 §2.39; Apple puts the bundle id there.
    private static let uid: ASN1ObjectIdentifier = [0, 9, 2_342, 19_200_300, 100, 1, 1]
    /// Source: Apple Worldwide Developer Relations, Certification Practice Statement, §4.11.7: Apple Push Services.
    private static let marks: [(oid: ASN1ObjectIdentifier, name: String)] = [
        ([1, 2, 840, 113_635, 100, 6, 3, 1], "development"), ([1, 2, 840, 113_635, 100, 6, 3, 2], "production"),
    ]
}
