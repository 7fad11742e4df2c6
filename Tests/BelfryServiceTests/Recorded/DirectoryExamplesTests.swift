import BelfryService
import Testing

/// The examples of "Registration", "Registrations" and "Custom User IDs", posted as they stand there, do what the pages say.
@Suite struct DirectoryExamplesTests {
    @Test(arguments: [
        ("registration-post", "registration-put"), ("registration-post-fields", "registration-put-fields"),
    ])
    func `a registration and its update are answered as documented`(post: String, put: String) async throws {
        // A word stands where a token of hex digits belongs.
        let bodies = try [post, put].map {
            try Example($0).posted().replacing(#""registration_token": "string""#, with: #""registration_token": "ab""#)
        }
        try await RecordedServer.open(at: ExampleRequest.then, verifiesCustomUserIDs: false) { server in
            let me = try server.device(.ios)
            let created = try #require(
                try await server.exchange(ExampleRequest.sent("POST /v1/registration/", me, bodies[0]), 200, .device))
            #expect(created.lacks(try Example("registration-post-answer").answer(), besides: ["active"]) == [])
            let uuid = try #require(created["device_uuid"]?.string)
            let updated = try #require(
                try await server.exchange(
                    ExampleRequest.sent("PUT /v1/registration/\(uuid)", me, bodies[1]), 200, .device))
            let body = try StrictJSON(bodies[1])
            #expect(updated["device_alias"] == body["device_alias"])
            #expect(updated["custom_user_id"] == body["custom_user_id"])
            let shown = try #require(
                try await server.exchange(ExampleRequest.asked("GET /v1/registration/\(uuid)", me), 200, .device))
            #expect(shown == updated)
            #expect(shown.lacks(try Example("registration-answer").answer(), besides: ["active"]) == [])
            let list = try #require(
                try await server.exchange(
                    ExampleRequest.asked("GET /v2/registrations/?size=1", server.sender), 200, .registrations)
            )
            #expect(list.lacks(try Example("registrations-answer").answer(), besides: ["active"]) == [])
            for key in ["totalRegistrations", "totalPages", "page", "size"] { #expect(list[key] == .integer(1)) }
        }
    }

    @Test func `the custom user ids are those of the page`() async throws {
        let body = try Example("custom-user-id-fragment").posted(rest: #""registration_token":"ab""#)
        let page = try Example("custom-user-ids-answer").answer()
        try await RecordedServer.open(at: ExampleRequest.then, verifiesCustomUserIDs: false) { server in
            try await server.exchange(
                ExampleRequest.sent("POST /v1/registration", try server.device(.ios), body), 200, .device)
            for path in ["/v2/custom_user_ids", "/v2/custom_user_ids?q=id1", "/v1/custom_user_ids"] {
                let answer = try await server.exchange(
                    ExampleRequest.asked("GET \(path)", server.sender), 200, .customUserIDs)
                #expect(answer == page)
            }
            let none = try await server.exchange(
                ExampleRequest.asked("GET /v2/custom_user_ids?q=ID1", server.sender), 200, .customUserIDs)
            #expect(none?["custom_user_ids"] == .array([]))
        }
    }
}
