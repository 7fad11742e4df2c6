/// FCM's answers, in Google's format.
///
/// Source: firebase.google.com, "FCM error codes"; google.rpc.Status.
enum FCMAnswers {
    /// One of FCM's error codes, or of this simulator's names for answers without a code.
    static func answer(for reason: String) -> ServiceAnswer? {
        switch reason {
        case "UNREGISTERED":
            error(404, "NOT_FOUND", "Requested entity was not found.", [fcm(reason)], reason)
        case "SENDER_ID_MISMATCH":
            error(403, "PERMISSION_DENIED", "SenderId mismatch", [fcm(reason)], reason)
        case "INVALID_ARGUMENT": badToken
        case "INVALID_ARGUMENT_ELSEWHERE":
            badArgument("message.android.ttl", "Invalid duration")
        case "QUOTA_EXCEEDED": quotaExceeded("project")
        case "UNAVAILABLE":
            error(503, "UNAVAILABLE", "The service is currently unavailable.", [fcm(reason)], reason)
        case "INTERNAL":
            error(500, "INTERNAL", "Internal error encountered.", [fcm(reason)], reason)
        case "UNSPECIFIED_ERROR":
            error(500, "UNKNOWN", "Unknown error.", [fcm(reason)], reason)
        case "THIRD_PARTY_AUTH_ERROR":
            error(
                401, "UNAUTHENTICATED", "Auth error from APNS or Web Push Service", [fcm(reason)], reason)
        case "UNAUTHENTICATED": unauthenticated
        case "PERMISSION_DENIED": permissionDenied("belfry-simulated")
        case "NOT_FOUND": notFound
        case "BAD_GATEWAY":
            .html(
                502,
                "<html><head><title>502 Server Error</title></head><body><h1>Error: Server Error</h1>"
                    + "<h2>The server encountered a temporary error and could not complete your request.<p>"
                    + "Please try again in 30 seconds.</h2></body></html>", reason: reason)
        default: nil
        }
    }

    static let badToken = error(
        400, "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
        [
            badRequest("message.token", "Invalid registration token"), fcm("INVALID_ARGUMENT"),
        ], "INVALID_ARGUMENT")

    /// A message of the right shape with an invalid value.
    static func badArgument(_ field: String, _ description: String) -> ServiceAnswer {
        error(
            400, "INVALID_ARGUMENT", description, [badRequest(field, description), fcm("INVALID_ARGUMENT")],
            "INVALID_ARGUMENT")
    }

    /// JSON of the wrong shape: the answer comes from a layer before FCM and has no code of FCM.
    static func badShape(_ field: String, _ description: String) -> ServiceAnswer {
        error(400, "INVALID_ARGUMENT", description, [badRequest(field, description)], "INVALID_ARGUMENT")
    }

    /// A message over its size.
    static let tooBig = error(
        400, "INVALID_ARGUMENT", "Request contains an invalid argument.", [], "INVALID_ARGUMENT")

    static let unauthenticated = error(
        401, "UNAUTHENTICATED",
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
            + "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        [], "UNAUTHENTICATED")

    static let missingCredentials = error(
        401, "UNAUTHENTICATED",
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
            + "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        [], "UNAUTHENTICATED")

    static func permissionDenied(_ project: String) -> ServiceAnswer {
        error(
            403, "PERMISSION_DENIED",
            "Permission 'cloudmessaging.messages.create' denied on resource "
                + "'//cloudresourcemanager.googleapis.com/projects/\(project)' (or it may not exist).",
            [
                #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED","#
                    + #""domain":"cloudresourcemanager.googleapis.com"}"#
            ], "PERMISSION_DENIED")
    }

    static let notFound = ServiceAnswer.html(
        404, "<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title><p><b>404.</b> That’s an error.",
        reason: "NOT_FOUND")

    static func quotaExceeded(_ scope: String, retryAfter: Int64? = nil) -> ServiceAnswer {
        let quota =
            #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":\#(scope.quoted),"#
            + #""description":"Message rate exceeded"}]}"#
        var answer = error(
            429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Messages sent'.",
            [fcm("QUOTA_EXCEEDED"), quota], "QUOTA_EXCEEDED")
        if let retryAfter { answer.fields.append(("retry-after", "\(retryAfter)")) }
        return answer
    }

    private static func error(
        _ code: Int, _ status: String, _ message: String, _ details: [String], _ reason: String
    ) -> ServiceAnswer {
        let list = details.isEmpty ? "" : #","details":[\#(details.joined(separator: ","))]"#
        return .json(
            code, #"{"error":{"code":\#(code),"message":\#(message.quoted),"status":"\#(status)"\#(list)}}"#,
            reason: reason)
    }

    private static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private static func badRequest(_ field: String, _ description: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":"#
            + #"[{"field":\#(field.quoted),"description":\#(description.quoted)}]}"#
    }
}
