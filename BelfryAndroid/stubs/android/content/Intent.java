package android.content;

import android.net.Uri;

public class Intent {
    public static final String ACTION_VIEW = "android.intent.action.VIEW";
    public static final int FLAG_ACTIVITY_NEW_TASK = 0x10000000;
    public static final int FLAG_ACTIVITY_CLEAR_TOP = 0x04000000;
    public Intent() {}
    public Intent(String action) {}
    public Intent(String action, Uri uri) {}
    public Intent(Context context, Class<?> type) {}
    public Intent setPackage(String name) { return this; }
    public Intent setAction(String action) { return this; }
    public Intent addFlags(int flags) { return this; }
    public Intent putExtra(String name, String value) { return this; }
    public String getStringExtra(String name) { return null; }
    public boolean hasExtra(String name) { return false; }
    public void removeExtra(String name) {}
}
