import BelfryService

/// Reading what callers send.
struct JSONParts {
    private static let times = 200

    private static let push = """
        {"message": {"body": "Your code is 482 913", "custom": {"ios": {"badge": 1, "extra": {"thread": "a-17"}}}},
         "target": {"devices": ["0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"]}, "expiryTime": 1893456000000}
        """
    private static let registration = """
        {"registration_token": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "os": "ios",
         "os_version": "26.1", "device_model": "iPhone18,1", "device_manufacturer": "Apple", "device_alias": "phone",
         "custom_user_id": "someone@example.org",
         "tags": ["sport", "weather", "news", "traffic", "town", "music", "theatre", "fire", "school", "jobs"]}
        """

    func count() throws {
        let (push, registration) = (Array(Self.push.utf8), Array(Self.registration.utf8))
        // Once before, for what is made when it is first used.
        _ = try PCF.PushBody.parse(push)
        _ = try PCF.RegistrationRequest.parse(registration)
        try part("JSON of a push", of: Self.times) {
            for _ in 0..<Self.times { _ = try PCF.PushBody.parse(push) }
        }
        try part("JSON of a registration", of: Self.times) {
            for _ in 0..<Self.times { _ = try PCF.RegistrationRequest.parse(registration) }
        }
    }
}
