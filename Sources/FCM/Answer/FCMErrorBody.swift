import FoundationEssentials
import Outbound

/// The body of an FCM error, as far as it can be understood.
///
/// The code is in one of the details, at no fixed place; without one the status of the error counts.
/// Source: Firebase, "Error codes for the HTTP v1 API"; Google APIs, `google.rpc.Status`, `google.rpc.BadRequest`.
struct FCMErrorBody: Hashable {
    static let messageCharactersMax = 300
    static let fieldsMax = 8

    private(set) var code: FCMErrorCode?
    private(set) var message = ""
    private(set) var fields: [String] = []

    init(_ bytes: ArraySlice<UInt8>) {
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)), let error = envelope.error
        else {
            message = Outbound.words(in: bytes) ?? ""
            return
        }
        let own = error.details.lazy.compactMap(\.errorCode).first
        code = (own ?? error.status).flatMap(Self.word).map { FCMErrorCode($0) }
        message = String((error.message ?? "").prefix(Self.messageCharactersMax))
        fields = Array(error.details.flatMap(\.fields).compactMap(Self.word).prefix(Self.fieldsMax))
    }

    /// Codes and fields are plain words. Anything else must not reach a log or a page unchanged.
    private static func word(_ text: String) -> String? {
        let isPlain = 1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        return isPlain ? text : nil
    }
}

/// Members of the wrong type count as not given.
private struct Envelope: Decodable {
    let error: PageError?

    private enum Key: CodingKey { case error }

    init(from decoder: any Decoder) throws {
        error = try? decoder.container(keyedBy: Key.self).decode(PageError.self, forKey: .error)
    }
}

private struct PageError: Decodable {
    let status: String?
    let message: String?
    let details: [Detail]

    private enum Key: CodingKey { case status, message, details }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        status = try? container.decode(String.self, forKey: .status)
        message = try? container.decode(String.self, forKey: .message)
        details = (try? container.decode([Detail].self, forKey: .details)) ?? []
    }
}

/// One of `FcmError`, `BadRequest`, `QuotaFailure` and others, distinguished by their members.
private struct Detail: Decodable {
    private(set) var errorCode: String?
    private(set) var fields: [String] = []

    private enum Key: CodingKey { case errorCode, fieldViolations }

    private struct Violation: Decodable {
        let field: String?

        private enum Key: CodingKey { case field }

        init(from decoder: any Decoder) throws {
            field = try? decoder.container(keyedBy: Key.self).decode(String.self, forKey: .field)
        }
    }

    init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: Key.self) else { return }
        errorCode = try? container.decode(String.self, forKey: .errorCode)
        fields = ((try? container.decode([Violation].self, forKey: .fieldViolations)) ?? []).compactMap(\.field)
    }
}
